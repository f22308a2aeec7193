"use strict";
/* The list of runs: a table that is sorted, searched and filtered here, and kept up with the runs while it is open.
   Uses make, link, call, place, at, counted, complain and go of view.js; text from a run is put in as text only. */
const SVG = "http://www.w3.org/2000/svg";
function drawn(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// one interval on its rail, both in shares of the rail
function spanBar(bar) {
  const line = (name, from, to, y) => drawn("line", { class: name, x1: (100 * from).toFixed(2), x2: (100 * to).toFixed(2), y1: 5 - y, y2: 5 + y });
  return drawn("svg", { class: "span", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" },
    line("rail", 0, 1, 0), line("reach", bar.low, bar.high, 0), line("at", bar.at, bar.at, 4));
}

const FIRST_ROWS = 100;
const day = (seconds) => { const d = new Date(seconds * 1000), two = (n) => String(n).padStart(2, "0"); return [`${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`, `${two(d.getHours())}:${two(d.getMinutes())}`]; };
const money = (usd) => (usd >= 0.995 ? `$${usd.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}` : usd ? `$${usd.toPrecision(2)}` : "");
const short = (n) => n.toLocaleString("en", { notation: "compact", maximumFractionDigits: 1 });

/* what state a run is in: a word, the class of its pill, and a rank to sort by */
function stateOf(run) {
  if (run.error) return { word: "Cannot be read", kind: "trouble", rank: 4 };
  const missing = run.expected - run.answered - run.failed;
  if (run.writing) return { word: missing > 0 ? "Running" : "In use", kind: "running", rank: 0 };
  if (run.failed) return { word: `${short(run.failed)} failed`, kind: "trouble", rank: 3 };
  if (!run.expected) return { word: "Empty", kind: "waiting", rank: 2 };
  if (missing > 0) return { word: `${Math.floor((100 * run.answered) / run.expected)}% answered`, kind: "waiting", rank: 2 };
  return { word: "Complete", kind: "", rank: 5 };
}

const topBar = (run) => (run.summary && run.summary.bars && run.summary.bars[0]) || null;
const SIDE_RANK = { worse: 0, better: 1, differ: 2, alike: 3, open: 4, blocked: 5 };
const SHOWS = {
  all: ["All runs", () => true],
  running: ["Running", (r) => Boolean(r.writing)],
  attention: ["Needs attention", (r) => Boolean(r.error) || (!r.writing && stateOf(r).rank < 5) || Boolean(r.stale)],
  shown: ["Difference shown", (r) => Boolean(r.summary) && ["better", "worse", "differ"].includes(r.summary.side)],
  open: ["Inconclusive", (r) => Boolean(r.summary) && r.summary.side === "open"],
  blocked: ["Not compared", (r) => Boolean(r.summary) && r.summary.side === "blocked"],
  unmeasured: ["Not measured", (r) => !r.error && !(r.summary && r.summary.answer)],
};
const SORTS = {  // column: its title, a value to sort by, and the direction that comes first
  name: ["Run", (r) => r.name.toLowerCase(), 1],
  result: ["Result", (r) => SIDE_RANK[(r.summary || {}).side] ?? 9, 1],
  measure: ["Main measure", (r) => (topBar(r) ? topBar(r).at : -1), -1],
  cost: ["Cost", (r) => [r.money_usd || 0, r.tokens || 0], -1],
  date: ["Date", (r) => r.ended_at || 0, -1],
  state: ["State", (r) => stateOf(r).rank, 1],
};
const COLUMN_CLASSES = { name: "who", result: "says", measure: "measure", cost: "cost", date: "date", state: "state" };

function compareBy(key, direction) {
  const value = SORTS[key][1];
  return (a, b) => {
    const [x, y] = [value(a), value(b)].map((v) => (Array.isArray(v) ? v : [v]));
    for (let k = 0; k < x.length; k += 1) if (x[k] !== y[k]) return (x[k] < y[k] ? -1 : 1) * direction;
    return a.run - b.run;
  };
}

function measureCell(run) {
  const { bars, measure, more } = run.summary || {};
  if (!bars || !bars.length) return make("td", null, { class: "measure" });
  const list = make("ul", null, { class: "bars", "aria-label": measure });
  for (const bar of bars) list.append(make("li", null, { title: bar.words }, spanBar(bar), make("b", bar.amount),
    make("span", bar.name, { class: "of", dir: "auto" }), make("span", `: ${bar.words}`, { class: "hidden" })));
  return make("td", null, { class: "measure" }, list, make("span", measure + (more ? `, ${more.toLocaleString("en")} more` : ""), { class: "sub" }));
}

function stateCell(run) {
  const state = stateOf(run), cell = make("td", null, { class: "state" }, make("span", state.word, { class: `pill ${state.kind}` }));
  if (run.writing && run.answered + run.failed < run.expected) {
    const bar = make("progress", null, { max: run.expected, "aria-label": `answers of ${run.name}` });
    bar.value = run.answered + run.failed;
    cell.append(bar, make("span", `${run.answered.toLocaleString("en")} of ${run.expected.toLocaleString("en")}`, { class: "sub" }));
  } else if (run.stale) cell.append(make("span", "Changed since measured", { class: "sub" }));
  return cell;
}

function runRow(run, chosen, onChoose) {
  const pick = make("input", null, { type: "checkbox", "aria-label": `Choose ${run.name} to compare`, value: run.run });
  pick.checked = chosen.includes(run.run);
  pick.disabled = Boolean(run.error);
  pick.addEventListener("change", () => onChoose(run.run, pick.checked));
  const row = make("tr", null, { class: "card", "data-run": run.run });
  const who = make("th", null, { class: "who", scope: "row" }, make("a", run.name, { class: "run-name", href: `#/run/${run.run}`, dir: "auto" }));
  row.append(make("td", null, { class: "pick" }, pick), who);
  if (run.error) {
    row.append(make("td", run.error, { class: "says bad" }), make("td", null, { class: "measure" }), make("td", null, { class: "cost" }), make("td", null, { class: "date" }), stateCell(run));
    return row;
  }
  const names = run.conditions, left = run.n_conditions - Math.min(names.length, 4);
  who.append(make("span", `${names.slice(0, 4).join(", ")}${left > 0 ? ` and ${left} more` : ""}; ${counted(run.items, "question")}`, { class: "models", dir: "auto" }));
  const { answer, side } = run.summary || {};
  row.append(make("td", null, { class: "says" }, answer ? make("span", answer, { class: `clamp side side-${side || "none"}`, title: answer, dir: "auto" })
    : make("span", "Open the run to measure it.", { class: "sub" })), measureCell(run));
  row.append(make("td", money(run.money_usd), { class: "cost" }));
  if (run.tokens) row.lastChild.append(make("span", `${short(run.tokens)} tokens`, { class: "sub" }));
  const when = run.ended_at ? day(run.ended_at) : ["–"];
  row.append(make("td", when[0], { class: "date" }, ...(when[1] ? [make("span", ` ${when[1]}`, { class: "sub" })] : [])), stateCell(run));
  return row;
}

async function showRuns(query, mine) {
  place(["Runs", "#/"]);
  const state = { search: query.get("search") || "", show: query.get("show") in SHOWS ? query.get("show") : "all",
    sort: query.get("sort") in SORTS ? query.get("sort") : "date", down: query.get("down") };
  if (!["0", "1"].includes(state.down)) state.down = SORTS[state.sort][2] < 0 ? "1" : "0";
  let runs = [], unread = 0, chosen = [], shown = FIRST_ROWS;
  const texts = new Map(), rows = new Map();  // each run's row stays in the page while the run does not change
  const rowOf = (run) => { if (!rows.has(run.run)) rows.set(run.run, runRow(run, chosen, choose)); return rows.get(run.run); };
  const search = make("input", null, { type: "search", name: "search", placeholder: "Name, model or result", autocomplete: "off" });
  search.value = state.search;
  const show = make("select", null, { name: "show" }, ...options(Object.entries(SHOWS).map(([key, [text]]) => [key, text]), state.show));
  const sort = make("select", null, { name: "sort" }, ...options(Object.entries(SORTS).map(([key, [text]]) => [key, text]), state.sort));
  const tally = make("p", null, { class: "quiet", role: "status" });
  const header = make("tr", null, {}, make("td", null, { class: "pick" }));
  for (const [key, [title]] of Object.entries(SORTS)) {
    const button = make("button", title, { type: "button", class: "sort" });
    button.addEventListener("click", () => sortBy(key));
    header.append(make("th", null, { scope: "col", class: COLUMN_CLASSES[key], "data-sort": key }, button));
  }
  const body = make("tbody"), choice = make("div", null, { class: "choice", role: "status", id: "compare" }), none = make("p", null, { class: "none" }), end = make("div", null, { class: "end" });
  const table = make("table", null, { class: "runs" }, make("caption", "Runs", { class: "hidden" }), make("thead", null, {}, header), body);
  at("main").replaceChildren(make("div", null, { class: "listhead" }, make("h1", "Runs"), tally, make("label", "Search", { class: "grow" }, search),
    make("label", "Show", {}, show), make("label", "Sort by", { class: "narrow" }, sort)), table, end, none, choice);
  // a browser lays out hundreds of rows for longer than anybody waits: more come as the end of them comes near
  const near = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) { shown += FIRST_ROWS; draw(); } }, { rootMargin: "1500px" });

  const offer = () => {
    const names = chosen.map((n) => (runs.find((r) => r.run === n) || {}).name);
    choice.hidden = !chosen.length;
    const clear = make("button", "Clear", { type: "button" });
    clear.addEventListener("click", () => { chosen = []; draw(); });
    choice.replaceChildren(chosen.length === 2 ? make("a", `Compare ${names[0]} with ${names[1]}`, { class: "main", href: `#/two/${chosen[0]}/${chosen[1]}` })
      : make("span", `${names[0]} is chosen. Choose a second run to compare.`), clear);
  };
  const choose = (run, on) => {  // of three the first goes
    chosen = [...chosen.filter((n) => n !== run), ...(on ? [run] : [])].slice(-2);
    draw();
  };
  const draw = () => {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = runs.filter((r) => SHOWS[state.show][1](r) && words.every((w) => texts.get(r.run).includes(w)));
    hits.sort(compareBy(state.sort, state.down === "1" ? -1 : 1));
    const held = document.activeElement, drawn = hits.slice(0, shown), nodes = drawn.map(rowOf);
    if (nodes.length !== body.children.length || nodes.some((node, k) => node !== body.children[k])) {
      if (body.children.length && body.children.length < nodes.length && [...body.children].every((node, k) => node === nodes[k])) body.append(...nodes.slice(body.children.length));
      else body.replaceChildren(...nodes);
    }
    if (held && held !== document.activeElement && body.contains(held)) held.focus({ preventScroll: true });
    near.unobserve(end);
    if (drawn.length < hits.length) near.observe(end);
    for (const r of drawn) { const row = rows.get(r.run), on = chosen.includes(r.run); row.classList.toggle("chosen", on); row.querySelector("input").checked = on; }
    for (const head of header.querySelectorAll("[data-sort]")) {
      if (head.dataset.sort === state.sort) head.setAttribute("aria-sort", state.down === "1" ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
    }
    table.hidden = !hits.length;
    none.hidden = Boolean(hits.length || unread);
    none.textContent = runs.length ? "No run matches. Clear the search or show all runs." : "There is no run here yet. Make one: richter demo";
    tally.textContent = hits.length === runs.length ? counted(runs.length, "run") : `${hits.length.toLocaleString("en")} of ${counted(runs.length, "run")}`;
    if (unread) tally.textContent += `; reading ${unread.toLocaleString("en")} more`;
    offer();
    const kept = new URLSearchParams(Object.entries({ search: state.search, show: state.show === "all" ? "" : state.show,
      ...(state.sort === "date" && state.down === "1" ? {} : { sort: state.sort, down: state.down }) }).filter(([, value]) => value));
    history.replaceState(null, "", hash("/", kept));
  };
  const sortBy = (key) => {
    state.down = state.sort === key ? (state.down === "1" ? "0" : "1") : SORTS[key][2] < 0 ? "1" : "0";
    state.sort = sort.value = key;
    draw();
  };
  search.addEventListener("input", () => { state.search = search.value; shown = FIRST_ROWS; draw(); });
  show.addEventListener("change", () => { state.show = show.value; shown = FIRST_ROWS; draw(); });
  sort.addEventListener("change", () => { if (sort.value !== state.sort) sortBy(sort.value); });

  const before = new Map();
  const refresh = async () => {
    const all = (await call("/api/runs")).runs, found = all.filter((run) => !run.unread);
    if (mine !== turn) return;
    let changed = runs.length !== found.length || !all.length;
    unread = all.length - found.length;
    runs = found;
    for (const run of runs) {
      const text = JSON.stringify(run);
      if (before.get(run.run) === text) continue;
      const old = rows.get(run.run);
      rows.delete(run.run);
      if (old && old.isConnected) {  // who stands on a link or a box of the row stays there
        const focused = [...old.querySelectorAll("a, input")].indexOf(document.activeElement), row = rowOf(run);
        old.replaceWith(row);
        if (focused >= 0) row.querySelectorAll("a, input")[focused].focus({ preventScroll: true });
      }
      texts.set(run.run, [run.name, run.error || "", (run.summary || {}).answer || "", ...(run.conditions || [])].join("\n").toLowerCase());
      before.set(run.run, text);
      changed = true;
    }
    if (changed) draw();
    timer = setTimeout(() => refresh().catch(complain), unread ? 100 : runs.some((r) => r.writing) ? 1000 : 5000);
  };
  await refresh();
}
