"use strict";
// Text from models and data reaches the page through textContent alone.
(function () {
  const PAGE = 50;
  const data = JSON.parse(document.getElementById("data").textContent);
  const column = {};
  data.columns.forEach((name, index) => { column[name] = index; });
  const long = new Set(data.texts);
  const get = (row, name) => {
    const value = row[column[name]];
    return long.has(name) ? data.strings[value] : value;
  };
  const element = (id) => document.getElementById(id);
  const filters = ["run", "cell", "result", "verdict", "truth", "reason", "type", "flags"];
  const none = "(none)";
  const shown = (row, name) => {
    const value = get(row, name);
    return value === null || value === "" ? none : String(value);
  };
  const visible = (text) =>
    // Control characters have pictures of their own, 0x2400 above them.
    String(text).replace(/[\u0000-\u0008\u000b-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
      .replace(/\u007f/g, "\u2421");
  const make = (tag, text, className) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = visible(text);
    if (className) node.className = className;
    return node;
  };

  const state = { page: 1, q: "", open: "" };
  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    filters.forEach((name) => { state[name] = given.get(name) || ""; });
    state.q = given.get("q") || "";
    state.open = given.get("open") || "";
    state.page = Math.max(1, parseInt(given.get("page") || "1", 10) || 1);
  };
  const write = () => {
    const given = new URLSearchParams();
    filters.concat(["q", "open"]).forEach((name) => { if (state[name]) given.set(name, state[name]); });
    if (state.page > 1) given.set("page", String(state.page));
    history.replaceState(null, "", "#" + (given.toString() || "judgments"));
  };

  const fill = (name) => {
    const select = element("f-" + name);
    const values = new Map();
    data.rows.forEach((row) => {
      const value = shown(row, name);
      values.set(value, (values.get(value) || 0) + 1);
    });
    select.append(new Option("all", ""));
    const order = name === "run" ? [...values.keys()].sort((a, b) => a - b) : [...values.keys()].sort();
    order.forEach((value) => {
      const label = name === "run" ? data.runs[Number(value)] : value;
      select.append(new Option(visible(label) + " (" + values.get(value).toLocaleString("en") + ")", value));
    });
    select.parentElement.hidden = values.size < 2;
    select.addEventListener("change", () => { state[name] = select.value; state.page = 1; state.open = ""; write(); render(); });
  };

  const matching = () => {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    data.rows.forEach((row, number) => {
      if (!filters.every((name) => !state[name] || shown(row, name) === state[name])) return;
      if (words.length) {
        const text = ["question", "reference", "candidate", "id", "item", "detail"].map((name) => get(row, name)).join("\n").toLowerCase();
        if (!words.every((word) => text.includes(word))) return;
      }
      found.push(number);
    });
    return found;
  };

  const trace = (number) => {
    const row = data.rows[number];
    const box = make("td", undefined, "trace");
    box.colSpan = 10;
    const facts = ["record " + get(row, "id"), "item " + get(row, "item"), "attempts " + get(row, "attempts")].concat(get(row, "facts"));
    if (data.runs.length > 1) facts.unshift(data.runs[get(row, "run")]);
    if (get(row, "reason")) facts.push("no verdict: " + get(row, "reason") + ", " + get(row, "detail"));
    box.append(make("p", facts.join(" · ")));
    const p = Object.entries(get(row, "probabilities"));
    if (p.length) box.append(make("p", "probabilities: " + p.map(([label, value]) => label + " " + value.toFixed(4)).join(", ")));
    const kept = data.traces[number];
    if (!kept) box.append(make("p", "no trace of this judgment in this page", "missing"));
    (kept ? kept.details : []).forEach((detail) => {
      box.append(make("h4", detail.title));
      const table = make("table"), head = make("tr"), body = make("tbody");
      detail.columns.forEach((name) => { const cell = make("th", name); cell.scope = "col"; head.append(cell); });
      detail.rows.forEach((cells) => {
        const line = make("tr");
        cells.forEach((text) => line.append(make("td", data.strings[text])));
        body.append(line);
      });
      const top = make("thead");
      top.append(head);
      table.append(top, body);
      box.append(table);
    });
    (kept ? kept.calls : []).forEach((call, index) => {
      box.append(make("h4", "call " + (index + 1) + ": " + call.purpose));
      box.append(make("p", "ended by " + call.finish + " · prompt " + call.tokens[0] + " tokens (" + call.tokens[1] + " cached) · generated " +
        call.tokens[2] + " (" + call.tokens[3] + " thinking) · " + call.seconds + " s · key " + call.key, "quiet"));
      call.messages.forEach(([role, text]) => { box.append(make("div", role, "role"), make("pre", data.strings[text])); });
      if (data.strings[call.continuation]) box.append(make("div", "assistant, begun", "role"), make("pre", data.strings[call.continuation]));
      box.append(make("div", "answer", "role"), make("pre", data.strings[call.text]));
    });
    const line = make("tr");
    line.append(box);
    return line;
  };

  const draw = (number) => {
    const row = data.rows[number];
    const line = make("tr", undefined, ["wrong", "unscored", "not attempted"].includes(get(row, "result")) ? "wrong" : "");
    const cell = make("td");
    const open = state.open === get(row, "id");
    const button = make("button", open ? "close" : "open");
    button.type = "button";
    button.setAttribute("aria-expanded", String(open));
    button.setAttribute("aria-label", "trace of " + get(row, "id"));
    button.addEventListener("click", () => {
      state.open = open ? "" : get(row, "id");
      write();
      render();
      const again = [...document.querySelectorAll("#rows button")].find((each) => each.getAttribute("aria-label") === "trace of " + get(row, "id"));
      if (again) again.focus();
    });
    cell.append(button);
    line.append(cell);
    const p = get(row, "p");
    ["cell", "result"].forEach((name) => line.append(make("td", get(row, name))));
    line.append(make("td", get(row, "verdict") || "none: " + get(row, "reason")), make("td", get(row, "truth") || "–"));
    line.append(make("td", p === null ? "–" : p.toFixed(3), "n"));
    ["question", "reference", "candidate"].forEach((name) => line.append(make("td", get(row, name))));
    const kind = make("td", get(row, "type") || "–");
    if (get(row, "flags")) kind.append(make("div", "flagged: " + get(row, "flags"), "quiet"));
    line.append(kind);
    return line;
  };

  const render = () => {
    const found = matching();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    state.page = Math.min(state.page, pages);
    const first = (state.page - 1) * PAGE;
    const body = document.createDocumentFragment();
    found.slice(first, first + PAGE).forEach((number) => {
      body.append(draw(number));
      if (state.open === get(data.rows[number], "id")) body.append(trace(number));
    });
    document.querySelector("#rows tbody").replaceChildren(body);
    element("count").textContent = found.length.toLocaleString("en") + " of " + data.rows.length.toLocaleString("en") + " judgments";
    element("where").textContent = "page " + state.page + " of " + pages;
    element("previous").disabled = state.page === 1;
    element("next").disabled = state.page === pages;
    element("pager").hidden = pages === 1;
  };

  const show = () => {
    filters.forEach((name) => { element("f-" + name).value = state[name]; });
    element("f-q").value = state.q;
    render();
  };
  let waiting = 0;
  element("f-q").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.q = element("f-q").value; state.page = 1; state.open = ""; write(); render(); }, 150);
  });
  element("filters").addEventListener("submit", (event) => event.preventDefault());
  element("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    filters.concat(["q", "open"]).forEach((name) => { state[name] = ""; });
    state.page = 1;
    write();
    show();
  });
  const turn = (by) => () => { state.page += by; state.open = ""; write(); render(); };
  element("previous").addEventListener("click", turn(-1));
  element("next").addEventListener("click", turn(1));
  // A link to a section of the page is no filter.
  window.addEventListener("hashchange", () => { if (location.hash.includes("=")) { read(); show(); } });

  filters.forEach(fill);
  element("filters").hidden = element("rows").hidden = false;
  read();
  show();
})();
