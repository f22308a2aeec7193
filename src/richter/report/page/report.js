"use strict";
/* Fills the tables of figures, says what lies behind a mark, unpacks the evidence. Text from outside reaches the page by
   textContent only. For an app that shows this page in a frame: a mark or a button that is opened is sent to it as
   {type: "richter:open", detail}, with what is known of `item`, `condition`, `other`, `domain`, `tier`, `severity`,
   `mechanism`. */
(() => {
  const $ = (id) => document.getElementById(id);
  const figures = JSON.parse($("figures-data").textContent), settings = JSON.parse($("settings-data").textContent);
  for (const figure of Object.values(figures))
    figure.rows = figure.values.map((row) => Object.fromEntries(figure.fields.map((field, k) => [field, row[k]])));
  const make = (tag, text, attributes) => {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    return node;
  };

  /* ---- downloads: a cell that a spreadsheet would run as a formula gets a leading apostrophe ---- */
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    let text = String(value);
    if (/^[\s\u00a0]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/.test(text) || /^[\t\r\n]/.test(text)) text = "'" + text;
    return /[",;\r\n\t']/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = (header, rows) => [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  const save = (name, text) => {
    const link = make("a", null, { download: name });
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const figureCsv = (name) => {
    const keys = Object.keys(figures[name].columns);
    return csv(keys, figures[name].rows.map((row) => keys.map((key) => row[key])));
  };

  /* ---- what lies behind a mark ---- */
  const KNOWN = ["item", "condition", "other", "domain", "tier", "severity", "mechanism"];
  const known = (row) => Object.fromEntries(KNOWN.filter((key) => row[key] !== undefined && row[key] !== null && row[key] !== "–" && row[key] !== "any").map((key) => [key, row[key]]));
  const open = (detail) => {
    if (window.parent !== window) window.parent.postMessage({ type: "richter:open", detail }, "*");
    else show(detail);
  };
  const shown = (value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number" || Number.isInteger(value)) return typeof value === "number" ? value.toLocaleString("en") : String(value);
    return Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : String(Number(value.toPrecision(4)));
  };
  const tip = make("div", null, { class: "tip", "aria-hidden": "true" });
  tip.hidden = true;
  document.body.append(tip);
  const behind = (target) => {
    const mark = target.closest && target.closest("[data-row]"), holder = mark && mark.closest("[data-figure]");
    return holder ? [figures[holder.dataset.figure], figures[holder.dataset.figure].rows[Number(mark.dataset.row)]] : null;
  };
  addEventListener("pointermove", (event) => {
    const found = behind(event.target);
    tip.hidden = !found;
    if (!found) return;
    const [figure, row] = found;
    tip.replaceChildren();
    for (const [key, text] of Object.entries(figure.columns)) tip.append(make("span", text), make("span", shown(row[key])));
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
  });
  addEventListener("click", (event) => {
    const found = behind(event.target), button = event.target.closest && event.target.closest("[data-open], [data-csv]");
    if (found && found[0].drills) open(known(found[1]));
    else if (button && button.dataset.open) open(JSON.parse(button.dataset.open));
    else if (button) save(`richter-${button.dataset.csv}.csv`, figureCsv(button.dataset.csv));
  });

  /* ---- the numbers behind a figure ---- */
  const fill = (details) => {
    const { columns, rows, title, drills } = figures[details.dataset.table];
    if (details.querySelector("table")) return;
    const scroll = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": `Numbers: ${title}` });
    const table = make("table"), head = make("tr"), body = make("tbody");
    for (const text of Object.values(columns)) head.append(make("th", text, { scope: "col" }));
    if (drills) head.append(make("th", "answers", { scope: "col" }));
    for (const row of rows.slice(0, 2000)) {
      const line = make("tr");
      for (const key of Object.keys(columns)) line.append(make("td", shown(row[key])));
      if (drills) {
        const button = make("button", "Show", { type: "button", class: "plain", "aria-label": `Show the answers behind ${Object.keys(columns).slice(0, 3).map((key) => shown(row[key])).join(", ")}` });
        button.addEventListener("click", () => open(known(row)));
        line.append(document.createElement("td"));
        line.lastChild.append(button);
      }
      body.append(line);
    }
    table.append(make("thead"), body);
    table.tHead.append(head);
    scroll.append(table);
    details.append(scroll);
    if (rows.length > 2000) details.append(make("p", `The first 2,000 of ${rows.length.toLocaleString("en")}; the CSV holds all.`, { class: "small" }));
  };
  for (const details of document.querySelectorAll("details[data-table]")) details.addEventListener("toggle", () => { if (details.open) fill(details); });

  /* ---- the evidence: unpacked when one comes near ---- */
  const view = document.querySelector("richter-evidence");
  let unpacking = null, source = null;
  const unpack = () => {
    if (!view) return Promise.resolve(null);
    unpacking ||= (async () => {
      const bytes = Uint8Array.from(atob($("evidence-data").textContent), (c) => c.charCodeAt(0));
      const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
      source = window.richterRows(JSON.parse(text), settings.pair, settings.compared);
      await view.start(source, {});
      return source;
    })();
    return unpacking;
  };
  const show = async (detail) => {
    if (!(await unpack())) return;
    const { condition, other, severity, ...rest } = detail;
    const none = Object.fromEntries(KNOWN.map((key) => [key, undefined]));
    await view.set({ ...none, show: detail.show || (other ? "" : severity ? "all" : ""), search: "", first: condition, second: other || "", severity: severity ? Math.floor(severity) : undefined, ...rest });
    $("evidence").scrollIntoView();
    view.focusItem(0);
  };
  const evidenceCsv = () => {
    const { hits, conditions, state } = source.ask(view.asked), at = [state.first, state.second].map((name) => conditions.indexOf(name)).filter((k) => k >= 0);
    const side = (row, k) => { const c = row.answers[k]; return c ? [c.state, c.severity, c.text] : ["", null, ""]; };
    return csv(["item", "domain", "tier", "question", "reference", ...at.flatMap((k, n) => [`condition_${n + 1}`, `state_${n + 1}`, `severity_${n + 1}`, `answer_${n + 1}`])],
      hits.map((row) => [row.item, row.domain, row.tier, row.question, row.reference, ...at.flatMap((k) => [conditions[k], ...side(row, k)])]));
  };
  if (view) {
    const near = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) { near.disconnect(); unpack(); } }, { rootMargin: "600px" });
    near.observe(view);
    $("evidence-csv").addEventListener("click", () => unpack().then(() => save("richter-evidence.csv", evidenceCsv())));
  }

  /* ---- the table of measures: all rows on demand, sorted by a column ---- */
  const table = document.querySelector("table.measures"), all = $("all-rows");
  if (all) {
    all.hidden = false;
    table.classList.add("cut");
    all.addEventListener("click", () => { table.classList.remove("cut"); all.hidden = true; });
  }
  const sortBy = (head, k) => {
    const up = head.getAttribute("aria-sort") === "descending", body = table.tBodies[0];
    const value = (row) => (k ? Number(row.cells[k].dataset.value ?? NaN) : row.dataset.condition);
    const rows = [...body.rows].map((row) => [value(row), row]);
    const missing = ([v]) => (Number.isNaN(v) ? 1 : 0);
    rows.sort((p, q) => missing(p) - missing(q) || (p[0] < q[0] ? -1 : p[0] > q[0] ? 1 : 0) * (up ? 1 : -1) * (k ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.forEach(([, row], place) => row.classList.toggle("extra", place >= 12));
  };
  if (table && table.tBodies[0].rows.length > 2) table.tHead.querySelectorAll("[data-sort]").forEach((span) => {
    const head = span.parentElement, button = make("button", span.textContent, { type: "button" });
    span.replaceChildren(button);
    button.addEventListener("click", () => sortBy(head, head.cellIndex));
  });

  /* ---- what a link opens, theme, print ---- */
  const reveal = () => {
    const target = location.hash.length > 1 && $(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target && target.querySelector(":scope > details")) target.querySelector("details").open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) reveal();
    if (link && link.dataset.showChanged) show({ condition: settings.pair[0], other: settings.pair[1], show: link.dataset.showChanged });
  });
  addEventListener("beforeprint", () => { const sign = $("sign"); if (sign) sign.open = true; });
  reveal();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { $("theme").textContent = isDark() ? "Light" : "Dark"; $("theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours"); };
  $("theme").hidden = $("print").hidden = false;
  label();
  dark.addEventListener("change", label);
  $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; label(); });
  $("print").addEventListener("click", () => window.print());
  window.RICHTER_REPORT = { figures, unpack, show, figureCsv, evidenceCsv };
})();
