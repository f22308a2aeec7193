"use strict";
/* The steps of an agent's runs of a question: richterTimeline(runs, opened) gives a fold, or null. `opened` is the number
   of a run to open. Steps are drawn when a run is opened; everything from outside is put in as text, never as markup. */
(() => {
  const make = (tag, text, attributes, ...children) => {
    const node = document.createElement(tag);
    if (text !== null && text !== undefined) node.textContent = String(text);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children.filter(Boolean));
    return node;
  };
  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  const step = (run, [place, words, given, result]) => {
    const rules = (run.faults || {})[place] || [], isFirst = place === run.first;
    return make("li", null, { value: place, class: isFirst ? "fault first" : rules.length ? "fault" : "" },
      make("b", words), ...rules.map((rule) => make("span", isFirst ? `first fault: ${rule}` : rule, { class: "chip", "data-grave": isFirst ? "3" : "2" })),
      given ? make("pre", given, { dir: "auto" }) : null, result ? make("pre", result, { dir: "auto", class: "result" }) : null);
  };

  const steps = (run) => {
    if (!run.steps) return [make("p", "This page has no room for these steps. The app (richter view) shows them.", { class: "small" })];
    const left = run.n - run.steps.length;
    return [make("ol", null, {}, ...run.steps.map((one) => step(run, one))), left ? make("p", `${count(left, "more step")} not shown.`, { class: "small" }) : null];
  };

  const one = (run, isOpen) => {
    const rules = [...new Set(Object.values(run.faults || {}).flat())];
    const said = [`Run ${run.run}`, run.state, count(run.n, "step"), run.first ? `first fault at step ${run.first} (${(run.faults[run.first] || []).join(", ")})` : "no fault", rules.length > 1 ? rules.slice(1).join(", ") : ""];
    const fold = make("details", null, { "data-run": run.run }, make("summary", said.filter(Boolean).join(" · ")));
    const draw = () => { if (fold.children.length === 1) fold.append(...steps(run).filter(Boolean)); };
    fold.addEventListener("toggle", draw);
    if (isOpen) { draw(); fold.open = true; }
    return fold;
  };

  window.richterTimeline = (runs, opened) => {
    if (!runs || !runs.length) return null;
    const faulty = runs.filter((run) => run.first), chosen = runs.find((run) => run.run === opened) || (faulty.length ? faulty[0] : runs[0]);
    const title = runs.length === 1 ? `Steps${faulty.length ? ", with a fault" : ""}` : `Steps of ${count(runs.length, "run")}, ${faulty.length || "none"} with a fault`;
    const fold = make("details", null, { class: "timeline" }, make("summary", title));
    const draw = () => { if (fold.children.length === 1) fold.append(...runs.map((run) => one(run, run === chosen))); };
    fold.addEventListener("toggle", draw);
    if (opened) { draw(); fold.open = true; }
    return fold;
  };
})();
