"use strict";
/* Draws the figures, fills their tables, unpacks the evidence. Text from outside reaches the page by textContent only.

   For an app that shows this page:
   - `richter:open` is sent on `document` when a mark or a row is opened; `detail` holds `figure` and what is known of
     `item`, `condition`, `other`, `domain`, `tier`, `severity`, `mechanism`. `preventDefault()` keeps the page from acting itself.
   - `window.RICHTER_VIEW = {open(detail) {}}` is called instead, where it is defined.
   - A page that holds this one in a frame gets the same as a message: {type: "richter:open", detail}.
   - `window.RICHTER_REPORT.show(detail)` filters the evidence; from a frame's parent: {type: "richter:show", detail}. */
(() => {
  const $ = (id) => document.getElementById(id);
  const figures = JSON.parse($("figures-data").textContent);
  for (const figure of Object.values(figures)) {
    figure.rows = figure.values.map((row) => Object.fromEntries(figure.fields.map((field, k) => [field, row[k]])));
    delete figure.values;
  }
  const settings = JSON.parse($("settings-data").textContent);
  const PAGE = 25, FEW = 200;

  const make = (tag, text, attributes) => {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    return node;
  };
  const idle = window.requestIdleCallback ? (f) => window.requestIdleCallback(f, { timeout: 2000 }) : (f) => setTimeout(f, 30);

  /* ---- downloads: a cell that a spreadsheet would run as a formula gets a leading apostrophe ---- */
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    let text = String(value);
    if (/^[\s\u00a0]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/.test(text) || /^[\t\r\n]/.test(text)) text = "'" + text;
    return /[",;\r\n\t']/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  const csv = (header, rows) => [header, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  const save = (name, text, type) => {
    const link = make("a", null, { download: name });
    link.href = URL.createObjectURL(new Blob(["\ufeff", text].slice(type === "text/csv" ? 0 : 1), { type }));
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const figureCsv = (name) => {
    const keys = Object.keys(figures[name].columns);
    return csv(keys, figures[name].rows.map((row) => keys.map((key) => row[key])));
  };

  /* ---- opening what lies behind a mark or a row ---- */
  const open = (detail) => {
    const event = new CustomEvent("richter:open", { detail, cancelable: true });
    if (!document.dispatchEvent(event)) return;
    if (window.RICHTER_VIEW && typeof window.RICHTER_VIEW.open === "function") { window.RICHTER_VIEW.open(detail); return; }
    if (window.parent !== window) window.parent.postMessage({ type: "richter:open", detail }, "*");
    if (!detail.item || detail.figure) show(detail);
  };
  const KNOWN = ["item", "condition", "other", "domain", "tier", "severity", "mechanism"];
  const known = (row, figure) => {
    const detail = { figure };
    for (const key of KNOWN) if (row[key] !== undefined && row[key] !== null) detail[key] = row[key];
    return detail;
  };

  /* ---- figures ---- */
  const tip = make("div", null, { class: "tip", "aria-hidden": "true" });
  tip.hidden = true;
  document.body.append(tip);
  const tooltip = (handler, event, item, value) => {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    tip.replaceChildren();
    for (const [key, shown] of Object.entries(typeof value === "object" ? value : { value }))
      tip.append(make("span", key.replaceAll("_", " ")), make("span", shown));
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + "px";
  };
  const sized = ({ spec, rows }, width) => {
    const copy = JSON.parse(JSON.stringify(spec));
    const config = JSON.parse(JSON.stringify(settings.config));
    config.axisY = { labelLimit: Math.max(100, Math.round(width * (width < 500 ? 0.42 : 0.32))) };
    config.legend.columns = width < 480 ? (width < 360 ? 1 : 2) : 0;
    config.legend.labelLimit = Math.min(220, width - 40);
    copy.config = config;
    if (copy.facet) {
      const side = Math.min(150, Math.round(width * 0.4));  // what the labels on the left may take
      config.header.labelLimit = 190;
      config.axisY.labelLimit = side - 12;
      const room = width - side;
      const facets = new Set(rows.map((row) => row[copy.facet.field])).size;
      const columns = Math.max(1, Math.min(Math.floor(room / (facets > 6 ? 135 : 170)), facets));
      copy.columns = columns;
      copy.spec.width = Math.max(60, Math.min(380, Math.floor(room / columns) - 22));
    } else copy.width = width;
    return copy;
  };
  // labels and all within the width; set after compiling, because the compiler warns where a height comes in steps
  const fitted = (vega) => (vega.width === undefined ? vega : { ...vega, autosize: { type: "fit-x", contains: "padding" } });
  const drawn = new Map(), drawing = new Map();
  const draw = (name, again) => {
    if (drawing.has(name) && !again) return drawing.get(name);
    const holder = document.querySelector(`#figure-${CSS.escape(name)} .plot`);
    const width = Math.floor(holder.getBoundingClientRect().width);
    const spec = sized(figures[name], width);
    spec.datasets = { rows: figures[name].rows };
    const done = (async () => {
      if (drawn.has(name)) drawn.get(name).result.finalize();
      const result = await vegaEmbed(holder, spec, {
        ast: true, renderer: "svg", actions: false, defaultStyle: false, tooltip, hover: false, mode: "vega-lite", patch: fitted,
      });
      holder.classList.add("drawn");
      holder.querySelector("svg").setAttribute("aria-hidden", "true");  // the holder's label and the table speak for it
      result.view.addEventListener("click", (event, item) => {
        if (figures[name].drills && item && item.datum) open(known(item.datum, name));
      });
      drawn.set(name, { result, width });
      return result;
    })();
    drawing.set(name, done);
    return done;
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      near.unobserve(entry.target);
      if (entry.target.id === "evidence") unpack(); else draw(entry.target.dataset.figure);
    }
  }, { rootMargin: "400px" });
  for (const node of document.querySelectorAll("figure[data-figure], #evidence")) near.observe(node);
  const rest = () => {  // the others when the browser has nothing else to do, so that printing finds them drawn
    const name = Object.keys(figures).find((key) => !drawing.has(key));
    if (name) idle(() => draw(name).finally(rest));
    else if ($("evidence-data").textContent.length < 2e6) idle(unpack);
  };
  const drawAll = () => Promise.all(Object.keys(figures).map((name) => draw(name)));
  let resizing = 0;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      for (const [name, { width }] of drawn) {
        const holder = document.querySelector(`#figure-${CSS.escape(name)} .plot`);
        if (Math.abs(holder.getBoundingClientRect().width - width) > 2) draw(name, true);
      }
    }, 150);
  });

  /* ---- the numbers behind a figure ---- */
  const shown = (value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number" || Number.isInteger(value)) return typeof value === "number" ? value.toLocaleString("en") : String(value);
    return Math.abs(value) >= 1000 ? value.toLocaleString("en", { maximumFractionDigits: 0 }) : String(Number(value.toPrecision(4)));
  };
  const fill = (details) => {
    const name = details.dataset.table, { columns, rows, title, drills } = figures[name];
    if (details.querySelector("table")) return;
    const table = make("table"), head = make("tr"), body = make("tbody");
    table.append(make("caption", rows.length > FEW ? `${title}: the first ${FEW} of ${rows.length.toLocaleString("en")} rows; all are in the CSV` : title));
    for (const label of Object.values(columns)) head.append(make("th", label || "\u00a0", { scope: "col" }));
    if (drills) head.append(make("th", "answers", { scope: "col" }));
    for (const row of rows.slice(0, FEW)) {
      const line = make("tr");
      for (const key of KNOWN) if (row[key] !== undefined && row[key] !== null) line.setAttribute(`data-${key}`, row[key]);
      for (const key of Object.keys(columns)) line.append(make("td", shown(row[key])));
      if (drills) {
        const button = make("button", "show", { type: "button", class: "plain" });
        button.setAttribute("aria-label", "show the answers behind " + KNOWN.filter((key) => row[key] !== undefined && row[key] !== null).map((key) => row[key]).join(", "));
        button.addEventListener("click", () => open(known(row, name)));
        const last = make("td");
        last.append(button);
        line.append(last);
      }
      body.append(line);
    }
    const thead = make("thead");
    thead.append(head);
    table.append(thead, body);
    const scroll = make("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, numbers` });
    scroll.append(table);
    details.append(scroll);
  };
  for (const details of document.querySelectorAll("details[data-table]"))
    details.addEventListener("toggle", () => { if (details.open) fill(details); });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-csv], [data-svg]");
    if (!button) return;
    if (button.dataset.csv) save(`richter-${button.dataset.csv}.csv`, figureCsv(button.dataset.csv), "text/csv");
    else {
      const name = button.dataset.svg, { view } = await draw(name);
      const style = getComputedStyle(document.documentElement);
      const svg = (await view.toSVG()).replace(/var\((--[a-z0-9]+)\)/g, (_, key) => style.getPropertyValue(key).trim());
      save(`richter-${name}.svg`, svg, "image/svg+xml");
    }
  });

  /* ---- evidence ---- */
  let table = null, hits = [], page = 0, unpacking = null, haystack = null;
  const control = (id) => $(id);
  const mode = () => (document.querySelector("input[name=mode]:checked") || {}).value || "errors";
  const unpack = () => {
    if (!$("filters")) return Promise.resolve(null);
    return unpacking ||= (async () => {
      $("found").textContent = "Unpacking …";
      const bytes = Uint8Array.from(atob($("evidence-data").textContent), (c) => c.charCodeAt(0));
      const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
      table = JSON.parse(text);
      const options = (select, values) => { for (const [value, label] of values) select.append(make("option", label, { value })); };
      const names = table.conditions.map((name, k) => [k, name]);
      options($("by-condition"), names);
      options($("pair-a"), names);
      options($("pair-b"), names);
      $("pair-b").value = Math.min(1, names.length - 1);
      const few = (values) => [...new Set(values)].filter((v) => v !== "" && v !== null).sort((a, b) => (a > b) - (a < b)).map((v) => [v, v]);
      options($("by-domain"), few(table.domains));
      options($("by-tier"), few(table.tiers));
      const mechanisms = new Set();
      for (const list of table.wrong.ratings) for (let k = 2; k < list.length; k += 4) mechanisms.add(table.words[list[k]]);
      options($("by-mechanism"), few(mechanisms));
      const place = (part) => {
        const at = new Map();
        for (let k = 0; k < part.item.length; k++) at.set(part.condition[k] * table.ids.length + part.item[k], k);
        return at;
      };
      table.at = { wrong: place(table.wrong), right: place(table.right) };
      filter();
      return table;
    })();
  };
  const ratings = (part, row) => {
    const flat = table[part].ratings[row], list = [];
    for (let k = 0; k < flat.length; k += 4)
      list.push({ rater: table.raters[flat[k]], severity: flat[k + 1], mechanism: table.words[flat[k + 2]], reason: table.words[flat[k + 3]] });
    return list;
  };
  const hay = (row) => {
    haystack ||= new Array(table.wrong.item.length);
    if (haystack[row] === undefined) {
      const item = table.wrong.item[row], flat = table.wrong.ratings[row];
      let text = table.ids[item] + "\n" + table.questions[item] + "\n" + table.wrong.answer[row] + "\n" + table.references[item];
      for (let k = 3; k < flat.length; k += 4) text += "\n" + table.words[flat[k]];
      haystack[row] = text.toLowerCase();
    }
    return haystack[row];
  };
  const filter = () => {
    if (!table) return;
    const want = $("words").value.trim().toLowerCase(), pair = mode() === "pair";
    for (const node of document.querySelectorAll("#filters [data-mode]")) node.hidden = node.dataset.mode !== mode();
    const domain = $("by-domain").value, tier = $("by-tier").value;
    const fits = (item) => (!domain || table.domains[item] === domain) && (!tier || String(table.tiers[item]) === tier);
    hits = [];
    if (pair) {
      const a = Number($("pair-a").value), b = Number($("pair-b").value), change = $("by-change").value, only = $("different").checked;
      const counts = { fixed: 0, broken: 0, "both wrong": 0 };
      for (let item = 0; item < table.ids.length; item++) {
        const from = table.state[a][item], to = table.state[b][item];
        const kind = from === "w" && to === "r" ? "fixed" : from === "r" && to === "w" ? "broken" : from === "w" && to === "w" ? "both wrong" : "";
        if (!kind || !fits(item)) continue;
        const rows = [table.at.wrong.get(a * table.ids.length + item), table.at.wrong.get(b * table.ids.length + item)];
        if (want && !rows.some((row) => row !== undefined && hay(row).includes(want))) continue;
        counts[kind]++;
        if ((only && kind === "both wrong") || (change && kind !== change)) continue;
        hits.push({ item, kind, a, b });
      }
      $("found").textContent = `From ${table.conditions[a]} to ${table.conditions[b]}: ${counts.fixed.toLocaleString("en")} fixed, ${counts.broken.toLocaleString("en")} broken, ${counts["both wrong"].toLocaleString("en")} wrong in both; ${hits.length.toLocaleString("en")} shown.`;
    } else {
      const condition = $("by-condition").value, least = Number($("by-severity").value), mechanism = $("by-mechanism").value;
      const { condition: conditions, item: items, severity } = table.wrong;
      for (let row = 0; row < items.length; row++) {
        if (condition !== "" && conditions[row] !== Number(condition)) continue;
        if (severity[row] < least || !fits(items[row])) continue;
        if (mechanism) {
          const flat = table.wrong.ratings[row];
          let has = false;
          for (let k = 2; k < flat.length && !has; k += 4) has = table.words[flat[k]] === mechanism;
          if (!has) continue;
        }
        if (want && !hay(row).includes(want)) continue;
        hits.push(row);
      }
      $("found").textContent = `${hits.length.toLocaleString("en")} of ${items.length.toLocaleString("en")} errors.`;
    }
    page = 0;
    list();
  };
  const answerOf = (part, row) => {
    const text = table[part].answer[row], length = table[part].length[row];
    const box = make("div");
    if (text.length > 600) {
      const details = make("details");
      details.append(make("summary", text.slice(0, 300) + " …"), make("p", text, { class: "text" }));
      box.append(details);
    } else box.append(make("p", text === "" ? "(an empty answer)" : text, { class: "text" }));
    if (length) box.append(make("span", `cut; ${length.toLocaleString("en")} characters in all`, { class: "small" }));
    return box;
  };
  const grave = (severity) => String(Math.min(3, Math.floor(severity)));
  const chip = (severity) => severity === null ? make("span", "wrong", { class: "chip", "data-grave": "1" }) : make("span", String(Number(severity.toFixed(2))), { class: "chip", "data-grave": severity > 0 && severity < 1 ? "1" : grave(severity), title: "severity" });
  const why = (part, row) => {
    const ul = make("ul", null, { class: "why" });
    for (const { rater, severity, mechanism, reason } of ratings(part, row)) {
      const li = make("li");
      li.append(make("b", rater.name), ` (${rater.kind}) ${severity === null ? "no rating" : severity}${mechanism ? ", " + mechanism : ""}`);
      if (reason) li.append(": ", make("bdi", reason));
      ul.append(li);
    }
    return ul;
  };
  const opener = (detail) => {
    if (settings.item_url) {
      const url = settings.item_url.replace("{item}", encodeURIComponent(detail.item)).replace("{condition}", encodeURIComponent(detail.condition || ""));
      return make("a", "Open", { href: url, "aria-label": `Open ${detail.item}` });
    }
    if (!(window.RICHTER_VIEW || window.parent !== window || settings.opens)) return null;
    const button = make("button", "Open", { type: "button", class: "plain", "aria-label": `Open ${detail.item}` });
    button.addEventListener("click", () => open(detail));
    return button;
  };
  const td = (label, ...nodes) => { const node = make("td", null, { "data-label": label }); node.append(...nodes.filter((n) => n !== null)); return node; };
  const asked = (item) => {
    const box = make("div");
    box.append(make("p", table.questions[item], { class: "text" }));
    const where = [table.domains[item], table.tiers[item] === null ? "" : `tier ${table.tiers[item]}`].filter(Boolean).join(", ");
    box.append(make("span", (where ? where + " · " : "") + table.ids[item], { class: "small" }));
    return box;
  };
  const list = () => {
    const head = $("rows").tHead.rows[0], body = $("rows").tBodies[0], pair = mode() === "pair";
    const labels = pair ? ["Change", "Question", table.conditions[$("pair-a").value], table.conditions[$("pair-b").value], "Reference"]
      : ["Severity", "Question", "Answer", "Reference", "Ratings"];
    head.replaceChildren(...labels.map((label) => make("th", label, { scope: "col" })));
    $("rows").classList.toggle("pair", pair);
    $("rows").caption.textContent = pair ? "Items that the two conditions answer differently" : "Errors, gravest first";
    const lines = hits.slice(page * PAGE, (page + 1) * PAGE).map((hit) => {
      const tr = make("tr");
      if (!pair) {
        const row = hit, item = table.wrong.item[row], condition = table.conditions[table.wrong.condition[row]];
        tr.id = `error-${table.wrong.condition[row]}-${item}`;
        const detail = { item: table.ids[item], condition, severity: table.wrong.severity[row] };
        tr.dataset.item = detail.item; tr.dataset.condition = condition; tr.dataset.draw = "0"; tr.dataset.severity = detail.severity;
        const first = make("div");
        first.append(chip(detail.severity), make("br"), make("span", condition, { class: "small" }));
        const link = opener(detail);
        if (link) first.append(make("br"), link);
        tr.append(td(labels[0], first), td(labels[1], asked(item)), td(labels[2], answerOf("wrong", row)),
          td(labels[3], make("p", table.references[item], { class: "text" })), td(labels[4], why("wrong", row)));
      } else {
        const { item, kind, a, b } = hit;
        tr.dataset.item = table.ids[item]; tr.dataset.change = kind;
        tr.dataset.condition = table.conditions[a]; tr.dataset.other = table.conditions[b];
        const link = opener({ item: table.ids[item], condition: table.conditions[a], other: table.conditions[b] });
        const sides = [a, b].map((c, k) => {
          const key = c * table.ids.length + item, wrong = table.at.wrong.get(key), right = table.at.right.get(key);
          if (wrong !== undefined) return td(labels[2 + k], chip(table.wrong.severity[wrong]), answerOf("wrong", wrong), why("wrong", wrong));
          if (right !== undefined) return td(labels[2 + k], chip(0), answerOf("right", right));
          return td(labels[2 + k], chip(0), make("p", "right", { class: "text" }));
        });
        tr.append(td(labels[0], make("b", kind), make("br"), link), td(labels[1], asked(item)), ...sides, td(labels[4], make("p", table.references[item], { class: "text" })));
      }
      return tr;
    });
    body.replaceChildren(...lines);
    const pages = Math.max(1, Math.ceil(hits.length / PAGE));
    $("page-of").textContent = hits.length > PAGE ? `Page ${page + 1} of ${pages.toLocaleString("en")}` : "";
    $("before").disabled = page === 0;
    $("after").disabled = page + 1 >= pages;
  };
  const turn = (by) => { page += by; list(); $("rows").scrollIntoView({ block: "start" }); };
  const evidenceCsv = () => {
    if (mode() === "pair") {
      const side = (c, item) => {
        const key = c * table.ids.length + item, wrong = table.at.wrong.get(key), right = table.at.right.get(key);
        return wrong !== undefined ? [table.wrong.severity[wrong], table.wrong.answer[wrong]] : [0, right === undefined ? "" : table.right.answer[right]];
      };
      return csv(["item", "domain", "tier", "change", "question", "reference", "condition_a", "severity_a", "answer_a", "condition_b", "severity_b", "answer_b"],
        hits.map(({ item, kind, a, b }) => [table.ids[item], table.domains[item], table.tiers[item], kind, table.questions[item], table.references[item],
          table.conditions[a], ...side(a, item), table.conditions[b], ...side(b, item)]));
    }
    return csv(["item", "condition", "severity", "domain", "tier", "question", "answer", "reference", "ratings"], hits.map((row) => {
      const item = table.wrong.item[row];
      const said = ratings("wrong", row).map((r) => `${r.rater.name} (${r.rater.kind}) ${r.severity === null ? "no rating" : r.severity}${r.mechanism ? ", " + r.mechanism : ""}: ${r.reason}`);
      return [table.ids[item], table.conditions[table.wrong.condition[row]], table.wrong.severity[row], table.domains[item], table.tiers[item],
        table.questions[item], table.wrong.answer[row], table.references[item], said.join(" | ")];
    }));
  };
  const choose = (select, value) => {
    const text = value === undefined || value === null ? "" : String(value);
    const option = [...select.options].find((o) => o.textContent === text) || [...select.options].find((o) => o.value === text);
    select.value = option ? option.value : select.options[0].value;
  };
  const show = async (detail) => {
    if (!(await unpack())) return;
    const pair = detail.other !== undefined;
    document.querySelector(`input[name=mode][value=${pair ? "pair" : "errors"}]`).checked = true;
    $("words").value = detail.item || "";
    choose($("by-domain"), detail.domain);
    choose($("by-tier"), detail.tier);
    if (pair) {
      choose($("pair-a"), detail.condition);
      choose($("pair-b"), detail.other);
    } else {
      choose($("by-condition"), detail.condition);
      choose($("by-mechanism"), detail.mechanism);
      $("by-severity").value = String(Math.floor(Math.min(4, detail.severity || 0)));
    }
    filter();
    $("evidence").scrollIntoView();
    $("words").focus({ preventScroll: true });
  };
  if ($("filters")) {
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    $("filters").addEventListener("change", () => unpack().then(filter));
    let typing = 0;
    $("words").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => unpack().then(filter), 120); });
    $("clear").addEventListener("click", () => { $("filters").reset(); $("pair-b").value = Math.min(1, (table ? table.conditions.length : 1) - 1); unpack().then(filter); });
    $("evidence-csv").addEventListener("click", () => unpack().then(() => save("richter-evidence.csv", evidenceCsv(), "text/csv")));
    $("before").addEventListener("click", () => turn(-1));
    $("after").addEventListener("click", () => turn(1));
  }
  addEventListener("message", (event) => {
    if (event.source === window.parent && event.source !== window && event.data && event.data.type === "richter:show") show(event.data.detail || {});
  });

  /* ---- documentation opened by its link, theme, print ---- */
  const reveal = () => {
    const target = location.hash.startsWith("#docs-") && $(location.hash.slice(1));
    if (target) { target.querySelector("details").open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", reveal);
  reveal();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { $("theme").textContent = isDark() ? "Light" : "Dark"; $("theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours"); };
  $("theme").hidden = $("print").hidden = false;
  label();
  dark.addEventListener("change", label);
  $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; label(); });
  $("print").addEventListener("click", async () => { await drawAll(); await unpack(); window.print(); });
  addEventListener("beforeprint", () => { drawAll(); });

  window.RICHTER_REPORT = { version: 1, figures, drawn, draw, drawAll, unpack, show, open, figureCsv, evidenceCsv };
  idle(rest);
})();
