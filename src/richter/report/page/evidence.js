"use strict";
/* Answers of conditions side by side: <richter-evidence>, in the report over what is packed in it, in the app over the
   run. `start(source, state)`; source.find(state) gives {total, counts, conditions, rows}. Everything from outside is
   put in as text, never as markup. Keys: j and k move, n and p turn the page, / searches. */
(() => {
  const TURNED = { broken: "broken", fixed: "fixed" };  // from right to wrong, and from wrong to right
  const EXACT = { changed: "changed", ...TURNED };  // of two, where every answer is right or wrong
  const GRADED = { turned: "fixed or broken", ...TURNED, changed: "severity changed", worse: "more severe", better: "less severe" };  // ... has a severity
  const APART = { changed: "graded differently" };  // of two that are not compared
  const OTHER = { changed: "changed", worse: "got worse", better: "got better" };
  const OF_EACH = { severe: "severe", disagree: "raters disagree", refused: "refused", wrong: "wrong", all: "all" };
  const SORTS = { matters: "what matters most", gravest: "most severe first", item: "by name" };
  const FIXED = ["domain", "tier", "mechanism", "severity", "item"];  // set by opening a mark of a figure
  const PAGE = 10, LONG = 700, DIFF = 400, WORD = 32;

  const make = (tag, text, attributes, ...children) => {
    const node = document.createElement(tag);
    if (text !== null && text !== undefined) node.textContent = String(text);
    for (const [key, value] of Object.entries(attributes || {})) if (value !== null && value !== undefined) node.setAttribute(key, value);
    node.append(...children.filter((c) => c !== null && c !== undefined));
    return node;
  };
  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

  /* the words of `text`, each with whether it is outside the longest common sequence with `other` */
  const marked = (text, other) => {
    const [a, b] = [text, other].map((t) => t.match(/\s*\S+/g) || []), [p, q] = [a, b].map((words) => words.map((w) => w.trim().toLowerCase()));
    if (!other || text === other || a.length > DIFF || b.length > DIFF) return null;
    const width = b.length + 1, long = new Uint16Array((a.length + 1) * width);
    for (let i = a.length - 1; i >= 0; i--)
      for (let j = b.length - 1; j >= 0; j--)
        long[i * width + j] = p[i] === q[j] ? long[(i + 1) * width + j + 1] + 1 : Math.max(long[(i + 1) * width + j], long[i * width + j + 1]);
    if (long[0] * 5 < Math.min(a.length, b.length)) return null;  // little in common: marks would cover all
    const parts = [];
    for (let i = 0, j = 0; i < a.length;) {
      if (j < b.length && p[i] === q[j]) { parts.push([a[i], false]); i++; j++; }
      else if (j < b.length && long[i * width + j + 1] >= long[(i + 1) * width + j]) j++;
      else { parts.push([a[i], true]); i++; }
    }
    const sentence = (k) => { let [from, to] = [k, k]; while (from && !/[.!?\n]$/.test(parts[from - 1][0])) from--; while (to < parts.length - 1 && !/[.!?]$/.test(parts[to][0])) to++; return parts.slice(from, to + 1); };
    const inside = parts.map((part, k) => part[1] && sentence(k).some((other) => !other[1]));
    if (inside.some(Boolean)) parts.forEach((part, k) => { part[1] = inside[k]; });  // a sentence of its own is no difference of words
    return parts.reduce((runs, [word, differs]) => {  // words that differ one after another are one mark
      const last = runs.at(-1);
      if (last && last[1] && differs) last[0] += word; else runs.push([word, differs]);
      return runs;
    }, []);
  };
  /* a word of a thousand letters must be told where it may break */
  const broken = (text) => {
    const parts = [];
    let plain = "";
    for (const [word] of text.matchAll(/\s+|\S+/g))
      for (let k = 0; k < word.length; k += WORD) {
        if (k) { parts.push(plain, make("wbr")); plain = ""; }
        plain += word.slice(k, k + WORD);
      }
    parts.push(plain);
    return parts;
  };
  const TURN = /^(user|assistant|tool|human|ai): /m;
  const written = (text, other) => {
    const box = make("div", null, { class: "text", dir: "auto" });
    const parts = marked(text, other || "");
    if (parts) for (const [word, differs] of parts) {
      const [, room, core, end] = /^(\s*)(.*?)([.,;:!?]*)$/s.exec(word);
      box.append(room, ...(differs && core ? [make("mark", core), end] : broken(core + end)));
    }
    else if ((text.match(new RegExp(TURN, "gm")) || []).length > 1) {
      for (const turn of text.split(/\n(?=(?:user|assistant|tool|human|ai): )/)) {
        const [role, ...rest] = turn.split(": ");
        box.append(rest.length ? make("p", null, { class: "turn" }, make("b", role), " ", ...broken(rest.join(": "))) : make("p", turn));
      }
    } else box.append(...broken(text === "" ? "(empty)" : text));
    if (text.length <= LONG) return box;
    return make("details", null, {}, make("summary", text.slice(0, 280) + " …", { dir: "auto" }), box);
  };
  const graveness = (severity) => (severity >= 3 ? "3" : severity >= 2 ? "2" : severity > 0 ? "1" : "0");
  const chip = (cell) => {
    if (cell.state === "failed") return make("span", "failed", { class: "chip", "data-grave": "2" });
    if (cell.severity !== null && cell.severity !== undefined)
      return make("span", `severity ${Number(cell.severity.toFixed(2))}`, { class: "chip", "data-grave": graveness(cell.severity) });
    if (cell.score !== undefined) return make("span", `score ${Number(cell.score.toFixed(3))}`, { class: "chip" });
    if (cell.repeats) return make("span", `${cell.right} of ${cell.repeats} right`, { class: "chip", "data-grave": cell.right === 0 ? "2" : cell.right === cell.repeats ? "0" : "1" });
    return make("span", cell.state, { class: "chip", "data-grave": cell.state === "wrong" ? "2" : cell.state === "right" ? "0" : "1" });
  };
  const why = (cell) => {
    const given = (cell.ratings || []).filter((r) => r[4] || (cell.ratings || []).length > 1 || r[3]);
    const list = make("ul", null, { class: "why" });
    for (const [rater, kind, severity, mechanism, reason] of given)
      list.append(make("li", null, {}, make("b", rater), ` (${kind}) ${severity === null ? "no rating" : severity}${mechanism ? ", " + mechanism : ""}`,
        reason ? make("bdi", ": " + reason) : null));
    for (const [metric, value] of Object.entries(cell.scores || {})) list.append(make("li", `${metric}: ${Number(value.toFixed(3))}`));
    return list.children.length ? make("details", null, {}, make("summary", given.length ? "why" : "scores"), list) : null;
  };

  class Evidence extends HTMLElement {
    start(source, state) {
      this.source = source;
      this.asked = { show: "", sort: "matters", search: "", offset: 0, ...state };
      this.addEventListener("keydown", (event) => this.key(event));
      return this.load();
    }

    set(change) {
      this.asked = { ...this.asked, offset: 0, ...change };
      return this.load();
    }

    async load() {
      const turn = (this.turn = (this.turn || 0) + 1);
      const found = await this.source.find({ ...this.asked, limit: PAGE });
      if (turn !== this.turn) return found;
      this.asked = { ...this.asked, ...found.state };
      this.conditions = found.conditions;
      if (!this.bar) this.build();
      this.refresh(found);
      this.dispatchEvent(new CustomEvent("found", { detail: this.asked }));
      return found;
    }

    build() {
      const choose = (label, key, values, off) => {
        const select = make("select", null, { name: key });
        for (const value of values) select.append(make("option", value, { value }));
        if (off) select.append(make("option", off, { value: "" }));
        select.addEventListener("change", () => this.set({ [key]: select.value }));
        return make("label", label, {}, select);
      };
      const search = make("input", null, { type: "search", name: "search", maxlength: 200, value: this.asked.search });
      let typing = 0;
      search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => this.set({ search: search.value }), 150); });
      const sort = make("select", null, { name: "sort" });
      for (const [value, text] of Object.entries(SORTS)) sort.append(make("option", text, { value }));
      sort.addEventListener("change", () => this.set({ sort: sort.value }));
      const every = make("input", null, { type: "checkbox", name: "every" });
      every.addEventListener("change", () => this.set({ every: every.checked, offset: this.asked.offset }));
      const two = this.conditions.length > 1;
      this.shows = make("div", null, { class: "shows", role: "group", "aria-label": "Which questions" });
      this.fixed = make("div", null, { class: "shows" });
      this.bar = make("form", null, { class: "filters", autocomplete: "off", role: "search" },
        choose("First", "first", this.conditions), two ? choose("Second", "second", this.conditions, "none") : null,
        make("label", "Search", { class: "grow" }, search), make("label", "Order", {}, sort),
        this.conditions.length > 2 ? make("label", null, { class: "check" }, every, "all models") : null);
      this.bar.addEventListener("submit", (event) => event.preventDefault());
      this.said = make("output", null, { "aria-live": "polite" });
      this.heads = make("div", null, { class: "heads", "aria-hidden": "true" });  // each answer names its own
      this.list = make("div", null, { class: "items" });
      this.before = make("button", "Previous", { type: "button" });
      this.after = make("button", "Next", { type: "button" });
      this.before.addEventListener("click", () => this.page(-1));
      this.after.addEventListener("click", () => this.page(1));
      const keys = make("span", "Keys: j and k move, n and p turn the page, / searches.", { class: "small keys" });
      this.more = make("details", null, { class: "search" }, make("summary", this.conditions.length > 2 ? "Search and choose models" : "Search"), this.bar);
      this.replaceChildren(make("div", null, { class: "choose" }, this.shows, this.more), this.fixed, this.heads, this.list,
        make("div", null, { class: "found" }, this.said, keys, this.before, this.after));
    }

    page(by) {
      const offset = this.asked.offset + by * PAGE;
      if (offset < 0 || offset >= this.total) return;
      this.asked.offset = offset;
      this.load().then(() => { this.scrollIntoView({ block: "start" }); this.focusItem(0); });
    }

    focusItem(place) {
      const items = [...this.list.children];
      if (items.length) items[Math.max(0, Math.min(place, items.length - 1))].focus();
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      const now = [...this.list.children].indexOf(event.target.closest("article"));
      const act = { j: () => this.focusItem(now + 1), k: () => this.focusItem(now - 1), n: () => this.page(1), p: () => this.page(-1),
        "/": () => { this.more.open = true; this.bar.elements.search.focus(); } }[event.key];
      if (act) { event.preventDefault(); act(); }
    }

    refresh({ total, counts, rows, note, reading, items }) {
      this.total = total;
      this.shows.hidden = reading !== undefined;
      const asked = this.asked, form = this.bar.elements;
      form.first.value = asked.first;
      if (form.second) form.second.value = asked.second || "";
      form.sort.value = asked.sort;
      if (document.activeElement !== form.search) form.search.value = asked.search;
      const exact = rows.length && rows.every((row) => row.answers.every((c) => !c || (c.bad === null || c.bad === 0 || c.bad === 1) && !c.repeats && c.severity === null));
      const graded = rows.some((row) => row.answers.some((c) => c && c.severity !== null && c.severity !== undefined));
      const ofTwo = this.source.compared === false ? APART : exact ? EXACT : graded ? GRADED : OTHER;
      this.shows.replaceChildren(...Object.entries({ ...(asked.second ? ofTwo : {}), ...OF_EACH, ...(asked.second ? { wrong: "wrong in either" } : {}) }).map(([key, text]) => {
        const button = make("button", `${text} ${counts[key].toLocaleString("en")}${key === "all" && items ? ` of ${items.toLocaleString("en")}` : ""}`, { type: "button", "aria-pressed": String(key === asked.show), "data-show": key });
        button.hidden = !counts[key] && key !== asked.show;
        button.addEventListener("click", () => this.set({ show: key }));
        return button;
      }));
      this.fixed.replaceChildren(...FIXED.filter((key) => asked[key]).map((key) => {
        const button = make("button", `${key} ${asked[key]}${key === "severity" ? " and over" : ""} ×`, { type: "button", "aria-label": `Remove ${key} ${asked[key]}` });
        button.addEventListener("click", () => this.set({ [key]: undefined }));
        return button;
      }));
      const last = Math.min(asked.offset + rows.length, total);
      this.said.textContent = (total ? `${asked.offset + 1} to ${last} of ${count(total, "question")}` : "No question matches") + (note ? `; ${note}` : "") + ".";
      const names = asked.every ? [] : [asked.first, asked.second].filter(Boolean);
      this.heads.replaceChildren(make("span", "Question"), make("div", null, { class: "sides" }, ...names.map((name) => make("b", name))));
      this.classList.toggle("headed", names.length > 0 && rows.length > 0);
      this.list.replaceChildren(...rows.map((row) => this.item(row)));
      this.before.disabled = asked.offset === 0;
      this.after.disabled = last >= total;
    }

    item(row) {
      const { first, second, every } = this.asked;
      const [a, b] = [first, second].map((name) => this.conditions.indexOf(name));
      const cells = row.answers, x = cells[a], y = b < 0 ? null : cells[b];
      const graded = !row.question && cells.every((cell) => !cell || !cell.text);  // grades alone: no text anywhere
      const change = x && y && x.bad !== null && y.bad !== null ? (y.bad > x.bad ? "worse" : y.bad < x.bad ? "better" : "same") : "";
      const where = [row.domain, row.tier === null || row.tier === undefined ? "" : `tier ${row.tier}`, row.item].filter(Boolean).join(" · ");
      const node = make("article", null, { tabindex: "-1", "data-item": row.item, "data-change": change });
      const turned = x && y && !x.repeats && !y.repeats && [x.state, y.state].sort().join() === "right,wrong";
      const said = this.source.compared === false ? "" : { worse: turned ? "▼ broken" : "▼ got worse", better: turned ? "▲ fixed" : "▲ got better" }[change];
      node.append(make("div", null, { class: graded ? "asked graded" : "asked" }, said ? make("b", said, { class: `is-${change}` }) : null,
        graded ? null : written(row.question || "(no question)"),
        make("p", null, { class: "small where" }, row.reference ? make("span", null, { class: "reference" }, "Correct answer: ", make("bdi", row.reference)) : null, make("span", where)),
        this.source.href ? make("a", "Open", { href: this.source.href(row, this.asked), class: "small" }) : null));
      const sides = make("div", null, { class: "sides" });
      const shown = every ? cells.map((_, k) => k) : [a, b].filter((k) => k >= 0);
      for (const k of shown) {
        const cell = cells[k], name = this.conditions[k];
        const side = make("section", null, { class: "side", "data-condition": name, "data-state": cell ? cell.state : "none" });
        const head = make("p", null, { class: "who" }, make("b", name, { class: "small" }));
        side.append(head);
        if (!cell) side.append(make("p", "no answer", { class: "muted" }));
        else {
          const other = k === a ? y : x;
          head.append(" ", ...[chip(cell), cell.repeats && cell.state !== "failed" ? make("span", `answer 1 of ${cell.repeats}`, { class: "small" }) : null, cell.refused ? make("span", "refused", { class: "chip" }) : null, cell.disagree ? make("span", "raters disagree", { class: "chip" }) : null].filter(Boolean));
          if (!this.source.redacted && !graded) side.append(written(cell.text, other && other.state !== "failed" && cell.state !== "failed" ? other.text : ""));
          if (cell.length) side.append(make("p", `cut; ${cell.length.toLocaleString("en")} characters in all`, { class: "small" }));
          side.append(...[why(cell)].filter(Boolean));
        }
        sides.append(side);
      }
      node.append(sides);
      return node;
    }
  }
  customElements.define("richter-evidence", Evidence);

  /* those that pass a test and the others by turns, each in their order: what broke is seen beside what was fixed */
  const inTurn = (rows, test) => {
    const [some, others] = [rows.filter((row) => test(row)), rows.filter((row) => !test(row))];
    const [first, second] = rows.length && test(rows[0]) ? [some, others] : [others, some];
    return Array.from({ length: Math.max(first.length, second.length) }, (_, k) => [first[k], second[k]]).flat().filter(Boolean);
  };

  /* a source over rows that are all here */
  window.richterRows = (table, pair, compared) => {
    const { conditions, rows } = table;
    const cached = new Map();
    const hay = (row) => {
      if (!cached.has(row)) cached.set(row, [row.item, row.question, row.reference, ...row.answers.flatMap((c) => (c ? [c.text, ...(c.ratings || []).map((r) => r[4])] : []))].join("\n").toLowerCase());
      return cached.get(row);
    };
    const ask = (asked) => {
      const first = conditions.includes(asked.first) ? asked.first : pair[0];
      const second = asked.second === "" ? "" : conditions.includes(asked.second) ? asked.second : pair[1] || "";
      const at = [first, second].map((name) => conditions.indexOf(name)).filter((k) => k >= 0);
      const words = (asked.search || "").toLowerCase().split(/\s+/).filter(Boolean);
      const own = (row) => at.map((k) => row.answers[k]).filter(Boolean);
      const bads = (row) => own(row).map((c) => c.bad).filter((v) => v !== null);
      const both = (row) => (second && own(row).length === 2 && bads(row).length === 2 ? bads(row) : null);
      const turned = (row, before, after) => both(row) && own(row)[0].state === before && own(row)[1].state === after;
      const tests = {
        changed: (row) => both(row) && bads(row)[0] !== bads(row)[1], worse: (row) => both(row) && bads(row)[1] > bads(row)[0],
        better: (row) => both(row) && bads(row)[1] < bads(row)[0], turned: (row) => tests.broken(row) || tests.fixed(row), broken: (row) => turned(row, "right", "wrong"), fixed: (row) => turned(row, "wrong", "right"), severe: (row) => own(row).some((c) => c.severe),
        disagree: (row) => own(row).some((c) => c.disagree), refused: (row) => own(row).some((c) => c.refused),
        wrong: (row) => own(row).some((c) => c.state === "wrong"), all: () => true,
      };
      const fits = rows.filter((row) => (!asked.item || row.item === asked.item) && (!asked.domain || row.domain === asked.domain)
        && (!asked.tier || String(row.tier) === String(asked.tier)) && words.every((w) => hay(row).includes(w))
        && (!asked.severity || own(row).some((c) => c.severity >= Number(asked.severity)))
        && (!asked.mechanism || own(row).some((c) => (c.ratings || []).some((r) => r[3] === asked.mechanism))));
      const counts = Object.fromEntries(Object.entries(tests).map(([key, test]) => [key, fits.filter(test).length]));
      const graded = rows.some((row) => row.answers.some((c) => c && c.severity !== null && c.severity !== undefined));
      const show = asked.show && counts[asked.show] !== undefined ? asked.show : second && graded && counts.turned ? "turned" : second && counts.changed ? "changed" : counts.wrong ? "wrong" : "all";
      const hits = fits.filter(tests[show]);
      const worst = (row) => Math.max(-Infinity, ...bads(row));
      const apart = (row) => (both(row) ? Math.abs(bads(row)[1] - bads(row)[0]) : 0);
      if (asked.sort === "item") hits.sort((p, q) => (p.item < q.item ? -1 : 1));
      else if (asked.sort === "gravest") hits.sort((p, q) => worst(q) - worst(p));
      else {
        hits.sort((p, q) => apart(q) - apart(p) || worst(q) - worst(p));
        if (show === "changed" || show === "turned") hits.splice(0, hits.length, ...inTurn(hits, tests.worse));
      }
      const items = table.n_items > rows.length ? table.n_items : 0;  // where the page holds a part of them
      return { total: hits.length, counts, conditions, hits, items, note: items ? `the page holds ${rows.length.toLocaleString("en")} of ${items.toLocaleString("en")}` : "", state: { first, second, show } };
    };
    return {
      redacted: table.redacted, compared, ask,
      find: async (asked) => { const found = ask(asked); return { ...found, rows: found.hits.slice(asked.offset, asked.offset + asked.limit) }; },
    };
  };
})();
