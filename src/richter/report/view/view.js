"use strict";
/* The app over runs. Everything that comes from a run is put in as text, never as markup. Addresses:
   #/  #/run/N  #/two/N/M  #/run/N/items?search=...  #/run/N/item?item=ID&condition=A&other=B  #/run/N/rate */
const at = (id) => document.getElementById(id);
let timer = null, turn = 0, leaving = new AbortController();

function make(tag, text, attributes, ...children) {
  const node = document.createElement(tag);
  if (text !== null && text !== undefined) node.textContent = String(text);
  for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json", "X-Richter": "1" }, body: JSON.stringify(body),
  };
  const reply = await fetch(path, { credentials: "same-origin", ...options });
  const data = await reply.json().catch(() => ({ error: "The server sent no JSON." }));
  if (!reply.ok) throw new Error(data.error || String(reply.status));
  return data;
}

const some = (names) => names.slice(0, 8).join(", ") + (names.length > 8 ? ` and ${names.length - 8} more` : "");
const link = (text, to) => make("a", text, { href: to });
const hash = (path, query) => "#" + path + (String(query) ? "?" + query : "");
const severity = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));
const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const options = (values, chosen) => values.map(([value, text]) => {
  const option = make("option", text, { value });
  option.selected = value === chosen;
  return option;
});
const wide = (label, table) => make("div", null, { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);
const heads = (titles) => make("thead", null, {}, make("tr", null, {}, ...titles.map((t) => make("th", t, { scope: "col" }))));

function place(...steps) {
  at("path").replaceChildren(...steps.map(([text, to], k) =>
    make("li", null, {}, k === steps.length - 1 ? make("span", text, { "aria-current": "page" }) : link(text, to))));
  document.title = steps[steps.length - 1][0] + " · Richter";
}

/* ---- the list of runs, live ---- */
const SVG = "http://www.w3.org/2000/svg";
function spark(values) {
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path"), dot = document.createElementNS(SVG, "circle");
  const top = Math.max(...values, 1e-9), place = (v, k) => [(100 * k) / (values.length - 1), 18 - (16 * v) / top];
  svg.setAttribute("viewBox", "-2 0 104 20"); svg.setAttribute("class", "spark"); svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Share of wrong answers in runs of these questions: ${values.map((v) => (100 * v).toFixed(1) + "%").join(", ")}`);
  path.setAttribute("d", "M" + values.map(place).map((p) => p.map((x) => x.toFixed(1)).join(" ")).join("L"));
  const [x, y] = place(values[values.length - 1], values.length - 1);
  dot.setAttribute("cx", x); dot.setAttribute("cy", y); dot.setAttribute("r", 1.6);
  svg.append(path, dot);
  return svg;
}

const chosen = new Set();
function card(run) {
  const pick = make("input", null, { type: "checkbox", "aria-label": `Choose ${run.name} to compare`, value: run.run });
  pick.checked = chosen.has(run.run);
  pick.addEventListener("change", () => { if (pick.checked) chosen.add(run.run); else chosen.delete(run.run); offer(); });
  const text = make("div", null, {}, make("h2", null, {}, link(run.name, `#/run/${run.run}`)));
  const node = make("li", null, { class: "card", "data-run": run.run }, pick, text);
  if (run.error) { text.append(make("p", run.error, { class: "bad" })); return node; }
  const when = run.ended_at ? new Date(run.ended_at * 1000).toISOString().slice(0, 16).replace("T", " ") + ", " : "";
  const cost = run.money_usd ? `, $${run.money_usd.toFixed(2)}` : "";
  text.append(make("p", run.answer || "Not measured yet: open it."));
  if (run.stale) text.append(make("p", "Answers have come since; open it to measure again.", { class: "small" }));
  text.append(make("p", `${when}${some(run.conditions.map((c) => c.name))}; ${counted(run.items, "item")}, ${counted(run.calls, "call")}, ${counted(run.tokens, "token")}${cost}`, { class: "small" }));
  if (run.writing) text.append(make("p", "In progress: figures are of this moment.", { class: "good" }));
  for (const c of run.conditions) {
    const missing = c.expected - c.answered - c.failed;
    if (!run.writing && !c.failed && missing <= 0) continue;
    text.append(make("p", `${c.name}: ${c.answered.toLocaleString("en")} of ${c.expected.toLocaleString("en")} answered${c.failed ? `, ${c.failed.toLocaleString("en")} failed` : ""}`));
    if (run.writing && missing > 0) {
      const bar = make("progress", null, { max: c.expected, "aria-label": `answers of ${c.name}` });
      bar.value = c.answered + c.failed;
      text.append(bar);
    }
  }
  const files = { "Evidence (zip)": "evidence.zip", "Answers (CSV)": "answers.csv", "Ratings (CSV)": "ratings.csv", "Results (JSON)": "results.json" };
  text.append(make("p", null, { class: "row small" }, link("Report", `#/run/${run.run}`), link("Answers", `#/run/${run.run}/items`),
    link("Label", `#/run/${run.run}/rate`), ...Object.entries(files).map(([word, file]) => link(word, `/runs/${run.run}/export/${file}`))));
  if (run.history && run.history.length > 1) {
    const [before, last] = run.history.slice(-2).map((v) => (100 * v).toFixed(1) + "%");
    node.append(make("div", null, { class: "trend" }, spark(run.history), make("p", `wrong: ${last} (before: ${before})`, { class: "small" })));
  }
  return node;
}

function offer() {
  const two = [...chosen].sort((a, b) => a - b);
  at("compare").replaceChildren(two.length === 2 ? link("Compare the two", `#/two/${two[0]}/${two[1]}`) : make("span", `Choose two runs to compare them${two.length ? ` (${two.length} chosen)` : ""}.`, { class: "small" }));
}

async function showRuns(mine) {
  place(["Runs", "#/"]);
  const list = make("ul", null, { class: "runs" });
  chosen.clear();
  at("main").replaceChildren(make("h1", "Runs"), make("p", null, { id: "compare", role: "status" }), list);
  offer();
  let before = "";
  const refresh = async () => {
    const { runs } = await call("/api/runs");
    if (mine !== turn) return;
    const now = JSON.stringify(runs);
    at("compare").hidden = runs.length < 2;
    runs.sort((a, b) => (b.ended_at || 0) - (a.ended_at || 0));
    if (now !== before) {  // who stands on a link or a box of the list stays there
      const own = (node) => [...node.querySelectorAll("a, input")], held = document.activeElement.closest("[data-run]");
      const step = held ? own(held).indexOf(document.activeElement) : -1;
      list.replaceChildren(...runs.map(card));
      const back = held && list.querySelector(`[data-run="${held.dataset.run}"]`);
      if (back && own(back)[step]) own(back)[step].focus({ preventScroll: true });
    }
    before = now;
    if (!runs.length) list.replaceChildren(make("li", "There is no run here yet. Make one: richter demo"));
    timer = setTimeout(() => refresh().catch(complain), runs.some((r) => r.writing) ? 1000 : 5000);
  };
  await refresh();
}

/* ---- the report, and what lies behind its marks ---- */
async function framed(mine, title, path, ...above) {
  const status = make("p", "Measuring and building the report …", { role: "status", class: "small" });
  at("main").replaceChildren(...above, status);
  // asked for first: of a report that cannot be had a frame shows the browser's own page, not why
  const reply = await fetch(path, { credentials: "same-origin", signal: leaving.signal });
  if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).error || String(reply.status));
  if (mine !== turn) return;
  const frame = make("iframe", null, { title, sandbox: "allow-scripts allow-downloads allow-modals", src: path });
  frame.addEventListener("load", () => { status.textContent = "Choose a mark or a finding in the report to see the answers behind it."; });
  at("main").append(frame);
}

async function showReport(run, name, mine) {
  place(["Runs", "#/"], [name, `#/run/${run}`]);
  await framed(mine, `Report of ${name}`, `/runs/${run}/report`, make("p", null, { class: "row" }, link("All answers", `#/run/${run}/items`),
    link("Label", `#/run/${run}/rate`), link("Save this report", `/runs/${run}/export/report.html`)));
}

async function showTwo(runs, a, b, mine) {
  const [one, two] = [a, b].map((n) => named(runs, n));
  place(["Runs", "#/"], [`${one} and ${two}`, `#/two/${a}/${b}`]);
  await framed(mine, `${one} and ${two}`, `/runs/${a}/report/${b}`);
}

const KNOWN = ["item", "condition", "other", "domain", "tier", "severity", "mechanism"];
window.addEventListener("message", (event) => {
  const frame = document.querySelector("iframe");
  if (!frame || event.source !== frame.contentWindow || !event.data || event.data.type !== "richter:open") return;
  const detail = event.data.detail || {}, query = new URLSearchParams();
  for (const key of KNOWN) if (["string", "number"].includes(typeof detail[key])) query.set(key, detail[key]);
  location.hash = hash(`/run/${location.hash.split("/")[2]}/${query.has("item") ? "item" : "items"}`, query);
});

/* ---- answers: the report's own component over the whole run ---- */
async function showItems(run, name, query, mine) {
  place(["Runs", "#/"], [name, `#/run/${run}`], ["Answers", `#/run/${run}/items`]);
  const view = make("richter-evidence", "Reading the run …");
  at("main").replaceChildren(make("h1", `Answers of ${name}`), view);
  const asked = Object.fromEntries(query);
  for (const [from, to] of [["condition", "first"], ["other", "second"]]) if (asked[from] !== undefined) { asked[to] = asked[from]; delete asked[from]; }
  if (asked.first !== undefined && asked.second === undefined) asked.second = "";
  asked.offset = Number(asked.offset || 0);
  const source = {
    find: async (state) => {
      const next = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== undefined && value !== null && typeof value !== "boolean"));
      const found = await call(`/api/runs/${run}/evidence?${next}`);
      if (found.reading === undefined) return found;  // else a first page of a run that is still being read
      setTimeout(() => { if (mine === turn && view.isConnected) view.load(); }, 1000);
      return { ...found, note: `${Math.round(100 * found.reading)}% of the run is read; ${found.note}` };
    },
    href: (row, state) => hash(`/run/${run}/item`, new URLSearchParams({ item: row.item, condition: state.first, other: state.second || "" })),
  };
  view.addEventListener("found", ({ detail }) => {
    if (mine !== turn) return;
    const kept = Object.entries(detail).filter(([key, value]) => value && key !== "limit" && typeof value !== "boolean");
    history.replaceState(null, "", hash(`/run/${run}/items`, new URLSearchParams(kept)));
  });
  await view.start(source, asked);
}

/* ---- one item, conditions side by side ---- */
// a word of a megabyte takes a browser minutes to break, unless it is told where it may
const WORD = 32;
function written(text) {
  const node = make("blockquote", null, { class: "text", tabindex: "0", dir: "auto" });
  let plain = "";
  for (const [word] of text.matchAll(/\s+|\S+/g)) {
    for (let k = 0; k < word.length; k += WORD) {
      if (k) { node.append(plain, make("wbr")); plain = ""; }
      plain += word.slice(k, k + WORD);
    }
  }
  node.append(plain);
  return node;
}

async function showItem(run, name, query, mine) {
  const data = await call(`/api/runs/${run}/item?` + new URLSearchParams({ item: query.get("item") || "" }));
  if (mine !== turn) return;
  place(["Runs", "#/"], [name, `#/run/${run}`], ["Answers", `#/run/${run}/items`], [data.name, ""]);
  const conditions = [...new Set(data.answers.map((a) => a.condition))];
  const left = conditions.includes(query.get("condition")) ? query.get("condition") : conditions[0];
  const right = conditions.includes(query.get("other")) ? query.get("other") : conditions.find((c) => c !== left);
  const form = make("form", null, { class: "row" });
  const pick = (label, key, chosen) => {
    const node = make("select", null, { name: key }, ...options(conditions.map((c) => [c, c]), chosen));
    node.addEventListener("change", () => {
      const next = new URLSearchParams(query);
      next.set(key, node.value);
      location.hash = hash(`/run/${run}/item`, next);
    });
    form.append(make("label", label, {}, node));
  };
  if (conditions.length > 1) { pick("Left", "condition", left); pick("Right", "other", right); }
  const facts = make("dl", null, {}, make("dt", "Reference"), make("dd", data.reference));
  if (data.aliases.length) facts.append(make("dt", "Also right"), make("dd", data.aliases.join("; ")));
  if (data.domain) facts.append(make("dt", "Domain"), make("dd", data.domain + (data.tier ? `, tier ${data.tier}` : "")));
  const sides = make("div", null, { class: "whole" });
  for (const condition of [left, right].filter((c) => c !== undefined)) {
    const side = make("section", null, { class: "side", "data-condition": condition, "aria-label": condition }, make("h2", condition));
    for (const answer of data.answers.filter((a) => a.condition === condition)) {
      if (answer.draw) side.append(make("h3", `Draw ${answer.draw}`));
      side.append(answer.error ? make("p", `The call failed: ${answer.error}`, { class: "bad" })
        : written(answer.answer || "(empty)"));
      const list = make("dl");
      for (const r of answer.ratings) list.append(make("dt", `${r.rater} (${r.kind})`),
        make("dd", severity(r.severity) + (r.mechanism ? `, ${r.mechanism}` : "") + (r.reason ? `: ${r.reason}` : "")));
      side.append(list);
    }
    sides.append(side);
  }
  const parts = [make("h1", data.question), facts, form, sides];
  if (data.draws.length) {
    const rows = data.draws.map((d) => make("tr", null, {}, make("td", d.condition), make("td", d.answer), make("td", d.times, { class: "number" })));
    parts.push(make("h2", "Does it know?"), wide("Draws", make("table", null, {}, make("caption", "Repeated draws of this question"),
      heads(["Condition", "Answer", "Times"]), make("tbody", null, {}, ...rows))));
  }
  at("main").replaceChildren(...parts);
}

/* ---- rating ---- */
async function showRate(run, name) {
  place(["Runs", "#/"], [name, `#/run/${run}`], ["Label", `#/run/${run}/rate`]);
  const who = make("input", null, { name: "rater", required: "", autocomplete: "off", maxlength: "80" });
  const form = make("form", null, { class: "row" }, make("label", "Who labels?", {}, who), make("button", "Begin", { type: "submit" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    call(`/api/runs/${run}/rate`, { rater: who.value }).then(({ path }) => { location.href = path; }).catch(complain);
  });
  at("main").replaceChildren(make("h1", `Label answers of ${name}`), make("p", "Blind: who answered, what judges and other people " +
    "said is hidden. Every rating is kept at once. While you rate, no other command can write to the run."), form);
}

function complain(error) { if (error.name !== "AbortError") at("trouble").textContent = error.message; }

function named(runs, number) {
  const found = runs.find((r) => String(r.run) === number);
  if (!found) throw new Error(`There is no run ${number || ""} here; ${counted(runs.length, "run")} can be opened.`);
  return found.name;
}

async function show() {
  clearTimeout(timer);
  leaving.abort();
  leaving = new AbortController();
  const mine = ++turn;
  at("trouble").textContent = "";
  const [path, text] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  const query = new URLSearchParams(text || "");
  const [, word, run, page] = path.split("/");
  try {
    if (word !== "run" && word !== "two") { await showRuns(mine); return; }
    const { runs } = await call("/api/runs");
    if (mine !== turn) return;
    if (word === "two") { await showTwo(runs, run, page, mine); return; }
    const name = named(runs, run);
    if (page === "items") await showItems(run, name, query, mine);
    else if (page === "item") await showItem(run, name, query, mine);
    else if (page === "rate") await showRate(run, name);
    else await showReport(run, name, mine);
    at("main").focus({ preventScroll: true });
  } catch (error) {
    if (mine !== turn) return;
    complain(error);
    place(["Runs", "#/"], ["Not shown", ""]);  // what stood there before is not what was asked for
    at("main").replaceChildren(make("h1", "This cannot be shown"), make("p", null, {}, link("All runs", "#/")));
  }
}
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); });
window.addEventListener("hashchange", show);
show();
