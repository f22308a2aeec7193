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

function button(text, title, act) {
  const b = document.createElement("button");
  b.type = "button"; b.setAttribute("role", "radio"); b.setAttribute("aria-checked", "false");
  b.textContent = text; b.title = title; b.addEventListener("click", act);
  return b;
}

function build() {
  scale.levels.forEach((level) => {
    at("levels").append(button(`${level.severity.toFixed(1)} ${level.name}`, level.meaning, () => choose(level.severity)));
    const head = document.createElement("h2"); head.textContent = `${level.severity.toFixed(1)} ${level.name}`;
    const text = document.createElement("p"); text.textContent = level.meaning;
    at("scale").append(head, text);
    const list = document.createElement("ul");
    level.examples.forEach((e) => {
      const line = document.createElement("li"); line.textContent = `“${e.question}” — “${e.answer}”: ${e.why}`; list.append(line);
    });
    at("scale").append(list);
  });
  scale.mechanisms.forEach((m) => {
    const b = button(`${keyOf[m.name].toUpperCase()}: ${m.name}`, m.meaning, () => tag(m.name)); b.dataset.name = m.name;
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
  at("meaning").textContent = level ? level.meaning : "Press 0 to 4 for a level, then a full stop for the half step above it: 2 and . is 2.5.";
  at("save").disabled = severity === null;
}

// the interval on one rail for the whole session, so that it is seen to narrow; better for the reader is right
let first = null;
function drawSpan(span) {
  at("span").hidden = !span;
  if (!span) return;
  first = first || span;
  const sign = span.better === "lower" ? -1 : 1, two = span.better !== null;
  const reach = Math.max(Math.abs(first.low), Math.abs(first.high), Math.abs(span.low), Math.abs(span.high)) || 1;
  const place = (v) => (two ? 50 + 50 * sign * v / reach : 100 * v / reach).toFixed(2);
  const put = (name, from, to) => { const line = document.querySelector(`#span .${name}`); line.setAttribute("x1", place(from)); line.setAttribute("x2", place(to)); };
  put("zero", 0, 0); put("first", first.low, first.high); put("now", span.low, span.high); put("at", span.estimate, span.estimate);
  at("worse").textContent = two ? "worse" : "0"; at("better").textContent = two ? "better" : "";
}

function show(state) {
  task = state.task; at("trouble").textContent = "";
  at("progress").textContent = `${state.done} of ${state.total} rated`;
  at("claim").textContent = state.claim || ""; drawSpan(state.span);
  at("task").hidden = !task; at("done").hidden = Boolean(task);
  if (!task) return;
  at("question").textContent = task.question; at("reference").textContent = task.reference;
  at("answer").textContent = task.answer || "(empty)";
  severity = task.severity; mechanism = task.mechanism || ""; started = Date.now() / 1000;
  try {
    const draft = JSON.parse(localStorage.getItem("draft") || "null");
    if (draft && draft.task === task.number && severity === null) { severity = draft.severity; mechanism = draft.mechanism; started = draft.started; }
  } catch { /* no draft */ }
  draw();
}

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
  if (event.ctrlKey || event.metaKey || event.altKey || !scale) return;
  const key = event.key.toLowerCase();
  if (key >= "0" && key <= "4" && key.length === 1) choose(Number(key));
  else if ((key === "." || key === ",") && severity !== null && severity < 4) choose(Math.floor(severity) + (severity % 1 ? 0 : 0.5));
  else if (key === "enter") { event.preventDefault(); save(); }
  else if (key === "u" || key === "backspace") { event.preventDefault(); undo(); }
  else if (key === "?") help();
  else { const name = Object.keys(keyOf).find((n) => keyOf[n] === key); if (name) tag(name); }
});
at("save").addEventListener("click", save); at("undo").addEventListener("click", undo); at("help").addEventListener("click", help);

(async () => {
  try { scale = await call("api/scale"); build(); show(await call("api/next")); }
  catch (error) { at("task").hidden = false; at("trouble").textContent = error.message; }
})();
