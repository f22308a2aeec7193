"use strict";
// Everything an answer says is put in as text, never as markup.
const at = (id) => document.getElementById(id);
const keyOf = { retrieval: "r", reasoning: "s", fabrication: "f", metacognitive: "m", amplification: "a", format: "t" };
let scale = null, task = null, severity = null, mechanism = "", started = 0, busy = false;

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json", "X-Richter": "1" }, body: JSON.stringify(body),
  };
  const reply = await fetch(path, { credentials: "same-origin", ...options });
  const data = await reply.json().catch(() => ({ error: "The server sent no JSON." }));
  if (!reply.ok) throw new Error(data.error || String(reply.status));
  return data;
}

function make(tag, text, attributes, ...children) {
  const node = document.createElement(tag);
  if (text !== null && text !== undefined) node.textContent = String(text);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function radio(title, act, ...children) {
  const b = make("button", null, { type: "button", role: "radio", "aria-checked": "false", title }, ...children);
  b.addEventListener("click", act);
  return b;
}

function build() {
  scale.levels.forEach((level) => {
    at("levels").append(radio(level.meaning, () => choose(level.severity), make("b", level.severity.toFixed(1)), make("span", level.name)));
    const examples = level.examples.map((e) => make("li", `“${e.question}” — “${e.answer}”: ${e.why}`));
    at("scale").append(make("h2", `${level.severity.toFixed(1)} ${level.name}`), make("p", level.meaning), make("ul", null, {}, ...examples));
  });
  scale.mechanisms.forEach((m) => {
    const b = radio(m.meaning, () => tag(m.name), m.name, make("kbd", keyOf[m.name].toUpperCase())); b.dataset.name = m.name;
    at("mechanisms").append(b);
  });
}

function remember() {
  try { localStorage.setItem("draft", JSON.stringify({ task: task && task.number, severity, mechanism, started })); } catch { /* private mode */ }
}

function choose(value) {
  severity = value; if (value === 0) mechanism = ""; draw(); remember();
}

function tag(name) {
  if (severity === 0) return;
  mechanism = mechanism === name ? "" : name; draw(); remember();
}

function draw() {
  [...at("levels").children].forEach((b, i) => b.setAttribute("aria-checked", String(scale.levels[i].severity === severity)));
  [...at("mechanisms").children].forEach((b) => {
    b.setAttribute("aria-checked", String(b.dataset.name === mechanism)); b.disabled = severity === 0;
  });
  const level = scale.levels.find((l) => l.severity === severity);
  at("meaning").textContent = level ? level.meaning : matchMedia("(pointer: fine)").matches ? "Press 0 to 4 for a level, then a full stop for the half step above it: 2 and . is 2.5." : "Choose a level. Its meaning then stands here.";
  at("save").disabled = severity === null;
}

// the interval before and after the last label on one rail for the whole session; better for the reader is right
let reach = 0;
function drawStanding(state) {
  at("standing").hidden = !state.claim;
  at("claim").textContent = state.claim || "";
  at("effect").textContent = state.effect ? state.effect.words : "";
  const span = state.span, before = state.effect && state.effect.before;
  at("span").hidden = !span;
  if (!span) return;
  const sign = span.better === "lower" ? -1 : 1, two = span.better !== null;
  reach = Math.max(reach, ...[span, before || span].flatMap((s) => [Math.abs(s.low), Math.abs(s.high)])) || 1;
  const place = (v) => (two ? 50 + 50 * sign * v / reach : 100 * v / reach).toFixed(2);
  const put = (name, from, to) => { const line = document.querySelector(`#span ${name}`); line.setAttribute("x1", place(from)); line.setAttribute("x2", place(to)); };
  put(".zero", 0, 0); put(".reach.now", span.low, span.high); put(".at.now", span.estimate, span.estimate);
  for (const line of document.querySelectorAll("#span .before")) line.style.visibility = before ? "visible" : "hidden";
  if (before) { put(".reach.before", before.low, before.high); put(".at.before", before.estimate, before.estimate); }
  at("worse").textContent = two ? "worse" : "0"; at("better").textContent = two ? "better" : "";
}

function drawRaters(raters) {
  at("raters").replaceChildren(...raters.map((r) => {
    const bar = make("progress", null, { max: r.total, "aria-label": `labels of ${r.name}`, class: r.done >= r.total ? "progress-done" : "" });
    bar.value = r.done;
    return make("li", null, {}, make("span", r.is_you ? `${r.name} (you)` : r.name, { dir: "auto" }), make("span", `${r.done} of ${r.total}`), bar);
  }));
}

let settling = false;
function turnTo(where) {
  settling = where === "settle";
  at("to-label").setAttribute("aria-pressed", String(!settling)); at("to-settle").setAttribute("aria-pressed", String(settling));
  at("settle").hidden = !settling; at("task").hidden = settling || !task; at("done").hidden = settling || Boolean(task);
  if (settling) { at("scale").hidden = true; loadDisputes(); }
}

function show(state) {
  task = state.task; at("trouble").textContent = "";
  at("progress").textContent = `${state.done} of ${state.total} labelled`;
  at("to-settle").textContent = state.disagreements ? `Disagreements (${state.disagreements})` : "Disagreements";
  at("path").replaceChildren(...crumbs(state.run).map((node) => make("li", null, {}, node)));
  drawStanding(state); drawRaters(state.raters); turnTo("label");
  if (!task) return;
  at("question").textContent = task.question; at("reference").textContent = task.reference;
  at("answer").textContent = task.answer || "(empty)"; at("answer").scrollTop = 0;
  severity = task.severity; mechanism = task.mechanism || ""; started = Date.now() / 1000;
  try {
    const draft = JSON.parse(localStorage.getItem("draft") || "null");
    if (draft && draft.task === task.number && severity === null) { severity = draft.severity; mechanism = draft.mechanism; started = draft.started; }
  } catch { /* no draft */ }
  draw();
}

// in the app the bar leads back to it; alone the page has nowhere else to go
const inApp = location.pathname.match(/^\/runs\/(\d+)\/rate\//);
function crumbs(name) {
  const here = make("span", inApp ? "Label" : `Label answers of ${name}`, { "aria-current": "page" });
  if (!inApp) return [here];
  at("brand").href = "/#/";
  return [make("a", "Runs", { href: "/#/" }), make("a", name, { href: `/#/run/${inApp[1]}` }), here];
}

/* ---- what two others labelled differently ---- */
const levelName = (value) => `${value.toFixed(1)} ${(scale.levels.find((l) => l.severity === value) || { name: "" }).name}`;
function dispute(row) {
  const said = make("p", null, { class: "given" }, ...row.labels.map((l) => make("span", `${l.rater}: ${levelName(l.severity)}${l.mechanism ? `, ${l.mechanism}` : ""}`, { dir: "auto" })));
  const node = make("li", null, {}, make("p", row.question, { dir: "auto" }), make("p", `Reference: ${row.reference}`, { class: "quiet", dir: "auto" }),
    make("p", row.answer || "(empty)", { class: "text", dir: "auto", tabindex: "0" }), said);
  if (row.settled !== null) node.append(make("p", `Settled by ${row.settled_by}: ${levelName(row.settled)}`, { class: "settled", dir: "auto" }));
  if (row.is_yours) {
    node.append(make("div", null, { class: "choices" }, make("span", row.settled === null ? "Your label:" : "Change it to:"), ...row.levels.map((level) => {
      const b = make("button", levelName(level), { type: "button", "aria-pressed": String(row.settled === level) });
      b.addEventListener("click", () => settle(row.number, level));
      return b;
    })));
  }
  return node;
}

function showDisputes(found) {
  at("trouble").textContent = "";
  const open = found.rows.filter((r) => r.settled === null).length;
  at("to-settle").textContent = open ? `Disagreements (${open})` : "Disagreements";
  const many = found.yours > 1, yours = found.yours ? ` ${found.yours} more ${many ? "wait" : "waits"} for a third person, because one of the two labels is yours.` : "";
  at("settle-says").textContent = (found.rows.length ? "Two people labelled these answers differently. Your label decides. Richter keeps the other two." : "No two other people have labelled an answer differently.") + yours;
  drawRaters(found.raters);
  const own = found.raters.find((r) => r.is_you);
  at("progress").textContent = `${own.done} of ${own.total} labelled`;
  at("disputes").replaceChildren(...found.rows.map(dispute));
  drawStanding(found);
}
const loadDisputes = () => call("api/disagreements").then(showDisputes).catch((error) => { at("trouble").textContent = error.message; });
const settle = (answer, level) => call("api/settle", { answer, severity: level }).then(showDisputes).catch((error) => { at("trouble").textContent = `Not saved: ${error.message}`; });

async function send(path, body) {
  if (busy) return;
  busy = true;
  try { show(await call(path, body)); } catch (error) { at("trouble").textContent = `Not saved: ${error.message}`; }
  busy = false;
}

const save = () => { if (task && severity !== null) send("api/rate", { task: task.number, severity, mechanism, started_at: started }); };
const undo = () => send("api/undo", {});
const help = () => { at("scale").hidden = !at("scale").hidden; at("help").setAttribute("aria-expanded", String(!at("scale").hidden)); };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !scale || settling) return;
  const key = event.key.toLowerCase();
  if (key >= "0" && key <= "4" && key.length === 1) choose(Number(key));
  else if ((key === "." || key === ",") && severity !== null && severity < 4) choose(Math.floor(severity) + (severity % 1 ? 0 : 0.5));
  else if (key === "enter" && !(event.target.closest && event.target.closest("header, #undo, #help"))) { event.preventDefault(); save(); }
  else if (key === "u" || key === "backspace") { event.preventDefault(); undo(); }
  else if (key === "?") help();
  else { const name = Object.keys(keyOf).find((n) => keyOf[n] === key); if (name) tag(name); }
});
at("to-label").addEventListener("click", () => call("api/next").then(show).catch((error) => { at("trouble").textContent = error.message; }));
at("to-settle").addEventListener("click", () => turnTo("settle"));
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); });
at("save").addEventListener("click", save); at("undo").addEventListener("click", undo); at("help").addEventListener("click", help);

(async () => {
  try { scale = await call("api/scale"); build(); show(await call("api/next")); }
  catch (error) { at("task").hidden = false; at("trouble").textContent = error.message; }
})();
