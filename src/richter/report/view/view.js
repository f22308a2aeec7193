"use strict";
/* The app over runs. Everything that comes from a run is put in as text, never as markup. Addresses:
   #/  #/run/N  #/run/N/items?search=...  #/run/N/item?item=ID&condition=A&other=B  #/run/N/rate */
const at = (id) => document.getElementById(id);
let timer = null, turn = 0;

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
  at("path").replaceChildren(...steps.map(([text, to], k) =>
    make("li", null, {}, k === steps.length - 1 ? make("span", text, { "aria-current": "page" }) : link(text, to))));
  document.title = steps[steps.length - 1][0] + " · Richter";
}

/* ---- the list of runs, live ---- */
function card(run) {
  const node = make("li", null, { class: "card", "data-run": run.run }, make("h2", run.name));
  if (run.error) { node.append(make("p", run.error, { class: "bad" })); return node; }
  const cost = run.money_usd ? `, $${run.money_usd.toFixed(2)}` : "";
  node.append(make("p", `${counted(run.items, "item")}, ${counted(run.calls, "call")}, ${counted(run.tokens, "token")}${cost}`, { class: "quiet" }));
  if (run.writing) node.append(make("p", "In progress: figures are of this moment.", { class: "good" }));
  for (const c of run.conditions) {
    const failed = c.failed ? `, ${c.failed.toLocaleString("en")} failed` : "";
    node.append(make("p", `${c.name}: ${c.answered.toLocaleString("en")} of ${c.expected.toLocaleString("en")}${failed}`));
    if (run.writing && c.answered + c.failed < c.expected) {
      const bar = make("progress", null, { max: c.expected, "aria-label": `answers of ${c.name}` });
      bar.value = c.answered + c.failed;
      node.append(bar);
    }
  }
  const files = { "Evidence (zip)": "evidence.zip", "Answers (CSV)": "answers.csv", "Ratings (CSV)": "ratings.csv", "Results (JSON)": "results.json" };
  node.append(make("p", null, { class: "row" }, link("Report", `#/run/${run.run}`), link("Answers", `#/run/${run.run}/items`),
    link("Rate", `#/run/${run.run}/rate`), ...Object.entries(files).map(([text, file]) => link(text, `/runs/${run.run}/export/${file}`))));
  return node;
}

async function showRuns(mine) {
  place(["Runs", "#/"]);
  const list = make("ul", null, { class: "cards" });
  at("main").replaceChildren(make("h1", "Runs"), list);
  let before = "";
  const refresh = async () => {
    const { runs } = await call("/api/runs");
    if (mine !== turn) return;
    const now = JSON.stringify(runs);
    if (now !== before) list.replaceChildren(...runs.map(card));
    before = now;
    if (!runs.length) list.replaceChildren(make("li", "There is no run here yet. Make one: richter demo"));
    timer = setTimeout(() => refresh().catch(complain), runs.some((r) => r.writing) ? 1000 : 5000);
  };
  await refresh();
}

/* ---- the report, and what lies behind its marks ---- */
async function showReport(run, name) {
  place(["Runs", "#/"], [name, `#/run/${run}`]);
  const frame = make("iframe", null, { title: `Report of ${name}`, sandbox: "allow-scripts allow-downloads", src: `/runs/${run}/report` });
  const status = make("p", "Measuring the run and building its report …", { role: "status" });
  frame.addEventListener("load", () => { status.textContent = "Choose a mark or a row in the report to see the answers behind it."; });
  at("main").replaceChildren(make("h1", name), make("p", null, { class: "row" }, link("All answers", `#/run/${run}/items`),
    link("Rate", `#/run/${run}/rate`), link("Save this report", `/runs/${run}/export/report.html`)), status, frame);
}

const KNOWN = ["item", "condition", "other", "domain", "tier", "severity", "mechanism"];
window.addEventListener("message", (event) => {
  const frame = document.querySelector("iframe");
  if (!frame || event.source !== frame.contentWindow || !event.data || event.data.type !== "richter:open") return;
  const detail = event.data.detail || {}, query = new URLSearchParams();
  for (const key of KNOWN) if (["string", "number"].includes(typeof detail[key])) query.set(key, detail[key]);
  location.hash = hash(`/run/${location.hash.split("/")[2]}/${query.has("item") ? "item" : "items"}`, query);
});

/* ---- answers: filter, page, open ---- */
async function showItems(run, name, query, mine) {
  place(["Runs", "#/"], [name, `#/run/${run}`], ["Answers", `#/run/${run}/items`]);
  const data = await call(`/api/runs/${run}/items?${query}`);
  if (mine !== turn) return;
  const form = make("form", null, { class: "row", role: "search" });
  const choose = (label, key, values) =>
    form.append(make("label", label, {}, make("select", null, { name: key }, ...options(values, query.get(key) || ""))));
  const names = data.conditions.map((c) => [c, c]);
  const search = make("input", null, { type: "search", name: "search", value: query.get("search") || "" });
  form.append(make("label", "Words", {}, search));
  choose("Condition", "condition", [["", "any"], ...names]);
  choose("Beside", "other", [["", "none"], ...names]);
  choose("Domain", "domain", [["", "any"], ...data.domains.map((d) => [d, d])]);
  choose("Severity at least", "severity", [["", "any"], ...[0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4].map((s) => [String(s), s.toFixed(1)])]);
  choose("Show", "different", [["", "all"], ["1", "different only"]]);
  form.append(make("button", "Filter", { type: "submit" }));
  const kept = ["tier", "mechanism"].filter((key) => query.get(key));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const next = new URLSearchParams();
    for (const [key, value] of new FormData(form)) if (value) next.set(key, value);
    for (const key of kept) next.set(key, query.get(key));
    location.hash = hash(`/run/${run}/items`, next);
  });
  const only = kept.length ? " with " + kept.map((key) => `${key} ${query.get(key)}`).join(" and ") : "";
  const first = data.rows.length ? data.offset + 1 : 0;
  const whose = { rule: "rules", human: "people", judge: "judges" }[data.kind];
  const words = `${counted(data.total, "item")}${only}; ${first} to ${data.offset + data.rows.length} shown. ` +
    (whose ? `Severity as rated by ${whose}.` : "Nothing is rated yet.");
  const body = make("tbody");
  for (const row of data.rows) {
    const to = new URLSearchParams({ item: row.item });
    for (const key of ["condition", "other"]) if (query.get(key)) to.set(key, query.get(key));
    body.append(make("tr", null, { "data-item": row.item }, make("td", null, {}, link(row.question, hash(`/run/${run}/item`, to))),
      make("td", row.domain), make("td", row.tier ?? ""), ...row.severity.map((s) => make("td", severity(s), { class: "number" }))));
  }
  const table = make("table", null, {}, make("caption", words), heads(["Question", "Domain", "Tier", ...data.conditions]), body);
  const pages = make("p", null, { class: "row" });
  const go = (text, offset) => {
    const next = new URLSearchParams(query);
    next.set("offset", offset);
    pages.append(link(text, hash(`/run/${run}/items`, next)));
  };
  if (data.offset > 0) go("Previous", Math.max(0, data.offset - data.page));
  if (data.offset + data.rows.length < data.total) go("Next", data.offset + data.page);
  at("main").replaceChildren(make("h1", `Answers of ${name}`), form, wide("Items", table), pages);
}

/* ---- one item, conditions side by side ---- */
// a word of a megabyte takes a browser minutes to break, unless it is told where it may
const WORD = 32;
function written(text) {
  const node = make("blockquote", null, { class: "text", tabindex: "0" });
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
  const sides = make("div", null, { class: "sides" });
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
  place(["Runs", "#/"], [name, `#/run/${run}`], ["Rate", `#/run/${run}/rate`]);
  const who = make("input", null, { name: "rater", required: "", autocomplete: "off", maxlength: "80" });
  const form = make("form", null, { class: "row" }, make("label", "Who rates?", {}, who), make("button", "Begin", { type: "submit" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    call(`/api/runs/${run}/rate`, { rater: who.value }).then(({ path }) => { location.href = path; }).catch(complain);
  });
  at("main").replaceChildren(make("h1", `Rate answers of ${name}`), make("p", "Blind: who answered, what judges and other people " +
    "said is hidden. Every rating is kept at once. While you rate, no other command can write to the run."), form);
}

function complain(error) { at("trouble").textContent = error.message; }

async function show() {
  clearTimeout(timer);
  const mine = ++turn;
  at("trouble").textContent = "";
  const [path, text] = location.hash.replace(/^#/, "").split(/\?(.*)/s);
  const query = new URLSearchParams(text || "");
  const [, word, run, page] = path.split("/");
  try {
    if (word !== "run") { await showRuns(mine); return; }
    const { runs } = await call("/api/runs");
    if (mine !== turn) return;
    const name = (runs.find((r) => String(r.run) === run) || { name: "Run" }).name;
    if (page === "items") await showItems(run, name, query, mine);
    else if (page === "item") await showItem(run, name, query, mine);
    else if (page === "rate") await showRate(run, name);
    else await showReport(run, name);
    at("main").focus({ preventScroll: true });
  } catch (error) { complain(error); }
}
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); });
window.addEventListener("hashchange", show);
show();
