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
  at("path").replaceChildren(...(steps.length === 1 ? [] : steps).map(([text, to], k) =>
    make("li", null, {}, k === steps.length - 1 ? make("span", text, { "aria-current": "page" }) : link(text, to))));
  document.title = steps[steps.length - 1][0] + " · Richter";
  document.body.classList.toggle("wide-page", steps.length === 1);
  at("tabs").replaceChildren();
}

/* the pages of one run, the same on each of them */
const EXPORTS = { "Report (HTML)": "report.html", "Results (JSON)": "results.json", "Answers (CSV)": "answers.csv", "Ratings (CSV)": "ratings.csv" };
function tabs(run, current) {
  const files = Object.entries(EXPORTS).map(([word, file]) => make("li", null, {}, link(word, `/runs/${run}/export/${file}`)));
  const menu = make("details", null, { class: "menu" }, make("summary", "Export"), make("ul", null, {}, ...files));
  menu.addEventListener("focusout", (event) => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
  at("tabs").replaceChildren(...Object.entries({ Report: "", Answers: "/items", Label: "/rate" }).map(([word, page]) =>
    make("a", word, { href: `#/run/${run}${page}`, "aria-current": word === current ? "page" : null })), menu);
}

/* ---- the report, and what lies behind its marks ---- */
async function framed(mine, title, path, ...above) {
  const status = make("p", "Measuring and building the report …", { role: "status", class: "wait" });
  document.body.classList.add("framed");
  at("main").replaceChildren(...above, status);
  // asked for first: of a report that cannot be had a frame shows the browser's own page, not why
  const reply = await fetch(path, { credentials: "same-origin", signal: leaving.signal });
  if (!reply.ok) throw new Error((await reply.json().catch(() => ({}))).error || String(reply.status));
  if (mine !== turn) return;
  const frame = make("iframe", null, { title, sandbox: "allow-scripts allow-downloads allow-modals", src: path });
  frame.addEventListener("load", () => { status.remove(); frame.dataset.loaded = "1"; });
  at("main").append(frame);
}

/* how far a run is that is being written, and whether the report is still of it */
function describeProgress(run, begun) {
  const cost = run.money_usd ? `, ${money(run.money_usd)}` : "", failed = run.failed ? `, ${run.failed.toLocaleString("en")} failed` : "";
  const text = `Running: ${run.answered.toLocaleString("en")} of ${run.expected.toLocaleString("en")} answers${failed}${cost}.`;
  const pace = (run.answered - begun.answered) / Math.max((performance.now() - begun.at) / 1000, 1), left = run.expected - run.answered - run.failed;
  return pace > 0 && left > 0 ? `${text} About ${counted(Math.max(1, Math.round(left / pace / 60)), "minute")} left.` : text;
}

async function showReport(run, name, mine) {
  place(["Runs", "#/"], [name, `#/run/${run}`]);
  tabs(run, "Report");
  const words = make("p", "", { role: "status" }), bar = make("progress", null, { "aria-label": "answers so far" });
  const again = make("button", "Measure again", { type: "button" });
  const live = make("div", null, { class: "live" }, bar, words, again);
  again.addEventListener("click", () => show());
  live.hidden = true;
  let begun = null;
  const watch = async () => {
    const now = await call(`/api/runs/${run}`);
    if (mine !== turn) return;
    begun = begun || { answered: now.answered, at: performance.now() };
    const asking = Boolean(now.writing) && now.answered + now.failed < now.expected, old = Boolean(now.stale && now.summary && now.summary.answer);
    live.hidden = !asking && !old;
    bar.hidden = !asking;
    again.hidden = !old;
    if (asking) { bar.max = now.expected; bar.value = now.answered + now.failed; }
    words.textContent = asking ? describeProgress(now, begun) : old ? "The run has changed since this report was measured." : "";
    timer = setTimeout(() => watch().catch(complain), now.writing ? 1000 : 10000);
  };
  await Promise.all([framed(mine, `Report of ${name}`, `/runs/${run}/report?in=app`, live), watch()]);
}

async function showTwo(runs, a, b, mine) {
  const [one, two] = [a, b].map((n) => named(runs, n));
  place(["Runs", "#/"], [`${one} and ${two}`, `#/two/${a}/${b}`]);
  await framed(mine, `${one} and ${two}`, `/runs/${a}/report/${b}?in=app`);
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
  tabs(run, "Answers");
  const view = make("richter-evidence", "Reading the run …");
  at("main").replaceChildren(make("h1", `Answers of ${name}`), view);
  const asked = Object.fromEntries(query);
  for (const [from, to] of [["condition", "first"], ["other", "second"]]) if (asked[from] !== undefined) { asked[to] = asked[from]; delete asked[from]; }
  if (asked.first !== undefined && asked.second === undefined) asked.second = "";
  asked.offset = Number(asked.offset || 0);
  const { summary } = await call(`/api/runs/${run}`);
  if (mine !== turn) return;
  const source = {
    compared: Boolean(summary && summary.side && summary.side !== "blocked"),  // not known before the run is measured
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
  tabs(run, "");
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
  const facts = make("dl", null, { class: "known" }, make("dt", "Reference"), make("dd", data.reference));
  if (data.aliases.length) facts.append(make("dt", "Also right"), make("dd", data.aliases.join("; ")));
  if (data.domain) facts.append(make("dt", "Domain"), make("dd", data.domain + (data.tier ? `, tier ${data.tier}` : "")));
  const sides = make("div", null, { class: "whole" });
  for (const condition of [left, right].filter((c) => c !== undefined)) {
    const side = make("section", null, { class: "side", "data-condition": condition, "aria-label": condition }, make("h2", condition));
    for (const answer of data.answers.filter((a) => a.condition === condition)) {
      if (answer.draw) side.append(make("h3", `Repeat ${answer.draw}`));
      side.append(answer.error ? make("p", `The call failed: ${answer.error}`, { class: "bad" })
        : written(answer.answer || "(empty)"));
      const list = make("dl", null, { class: "known" });
      const facts = { Grade: answer.correct === null ? null : answer.correct ? "right" : "wrong", Score: answer.score, Confidence: answer.confidence };
      for (const [term, value] of Object.entries(facts)) if (value !== null) list.append(make("dt", term), make("dd", value));
      for (const r of answer.ratings) list.append(make("dt", `${r.rater} (${r.kind})`),
        make("dd", severity(r.severity) + (r.mechanism ? `, ${r.mechanism}` : "") + (r.reason ? `: ${r.reason}` : "")));
      side.append(list);
    }
    sides.append(side);
  }
  const parts = [make("h1", data.question, { class: "asked-question", dir: "auto" }), facts, form, sides];
  if (data.draws.length) {
    const rows = data.draws.map((d) => make("tr", null, {}, make("td", d.condition), make("td", d.answer), make("td", d.times, { class: "number" })));
    parts.push(make("h2", "Does it know?"), wide("Repeats", make("table", null, {}, make("caption", "Answers when the question was asked again"),
      heads(["Model", "Answer", "Times"]), make("tbody", null, {}, ...rows))));
  }
  at("main").replaceChildren(...parts);
}

/* ---- labelling: who labels, then the page that is served for them ---- */
async function showRate(run, name) {
  place(["Runs", "#/"], [name, `#/run/${run}`], ["Label", `#/run/${run}/rate`]);
  tabs(run, "Label");
  const who = make("input", null, { name: "rater", required: "", autocomplete: "off", maxlength: "80" });
  const form = make("form", null, { class: "row" }, make("label", "Your name", {}, who), make("button", "Begin", { type: "submit", class: "main" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    call(`/api/runs/${run}/rate`, { rater: who.value }).then(({ path }) => { location.href = path; }).catch(complain);
  });
  at("main").replaceChildren(make("h1", `Label answers of ${name}`), make("p", "You label blind: the page hides who answered, what judges said and what " +
    "other people said. Richter saves each label at once. While you label, no other command can write to this run."), form);
  who.focus();
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
  document.body.classList.remove("framed");
  const [path, text] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  const query = new URLSearchParams(text || "");
  const [, word, run, page] = path.split("/");
  try {
    if (word !== "run" && word !== "two") { await showRuns(query, mine); return; }
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
    document.body.classList.remove("framed");
    place(["Runs", "#/"], ["Not shown", ""]);  // what stood there before is not what was asked for
    at("main").replaceChildren(make("h1", "This cannot be shown"), make("p", null, {}, link("All runs", "#/")));
  }
}
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); });
window.addEventListener("hashchange", show);
show();
