/* The page of items: filters, a virtual list, and one item in a dialog. */
const SHOWN = ["context1", "context2", "target1", "target2"];
const ROW = 64, byId = id => document.getElementById(id);
const make = (tag, text, of = {}) => { const one = Object.assign(document.createElement(tag), of); if (text !== undefined && text !== null) one.textContent = text; return one; };
let data, runs, shown = [], at = -1, texts = {};

async function unpack() {
  const text = byId("data").textContent.trim();
  if (text.startsWith("{")) return JSON.parse(text);
  const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}
const value = (column, row) => column && column.codes[row] >= 0 ? column.values[column.codes[row]] : null;
const say = (number, places = 2) => number === null || number === undefined ? "–" : number.toFixed(places).replace("-", "−");

/* Each run gets its place of every row, or -1. */
function index(run) {
  run.of = new Int32Array(data.ids.length).fill(-1);
  run.rows.forEach((row, place) => { run.of[row] = place; });
  run.title = [run.name, run.asked_by].filter(Boolean).join(", ");
  run.benchmark = value(data.filters.benchmark, run.rows[0]);
  return run;
}
const rightOf = (run, row) => run && run.of[row] >= 0 ? run.right[run.of[row]] : null;
const pairingOf = (run, row) => run && run.pairing && run.of[row] >= 0 ? run.pairing[run.of[row]] : null;
const marginOf = (run, row) => run && run.of[row] >= 0 ? run.margin[run.of[row]] : null;
const partsOf = row => SHOWN.map(name => value(texts[name], row));
const langOf = row => data.languages[value(data.tables, row)];
const textOf = row => partsOf(row).filter(Boolean).join(" ");
/* Contexts, an arrow, targets; a stroke between two of a kind. */
const lineOf = row => { const parts = partsOf(row); return [parts.slice(0, 2), parts.slice(2)].map(two => two.filter(Boolean).join(" / ")).filter(Boolean).join(" → "); };
/* The runs that "all models" means: those asked like the chosen one; no controls, baselines or rules, unless it is one. */
const peers = () => { const run = runs[byId("run").value]; return run ? runs.filter(one => one.way === run.way && one.benchmark === run.benchmark && (one.tested || one === run)) : []; };

function fill(select, entries) { select.replaceChildren(...entries.map(([key, text]) => make("option", text, {value: key}))); }

function build() {
  texts = data.texts;
  for (const [name, column] of Object.entries(data.filters)) {
    if (column.values.length < 2) continue;
    const label = make("label", column.heading[0].toUpperCase() + column.heading.slice(1)), select = make("select", null, {id: `f-${name}`});
    fill(select, [["", "all"], ...column.values.map(one => [one, one])]);
    label.append(select);
    byId("selects").append(label);
  }
  const named = runs.map((run, number) => [String(number), run.title]);
  fill(byId("run"), named.length ? named : [["", "none"]]);
  fill(byId("other"), [["", "none"], ...named]);
  const box = byId("worth").querySelector("div");
  data.worth.forEach(list => {
    const section = make("section"), entries = make("ul");
    section.append(make("h2", list.title), make("p", list.text), entries);
    list.entries.forEach(entry => {
      const line = make("li"), link = make("a", entry.text, {href: "#" + entry.filter});
      line.append(link, ` (${entry.n})`);
      entries.append(line);
    });
    box.append(section);
  });
  byId("worth").hidden = data.worth.length === 0;
  byId("worth").open = innerWidth > 640;
}

/* The address says what is shown: #domain=…&model=…&right=none&q=words&item=ID. */
const fields = () => [...document.querySelectorAll("#selects select")].map(one => [one.id.slice(2), one]);
function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const plain = text => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ");
  fields().forEach(([name, select]) => {
    const text = wanted.get(name) || "", options = [...select.options].filter(one => one.value && text);
    const found = options.find(one => one.value === text) || options.find(one => plain(one.value) === plain(text));
    select.value = found ? found.value : "";
  });
  const way = wanted.get("way"), benchmark = wanted.get("benchmark");
  const suited = run => (!way || run.way === way) && (!benchmark || run.benchmark === benchmark);
  const place = name => { const own = runs.findIndex(run => suited(run) && run.model === name); return own < 0 ? runs.findIndex(run => suited(run) && run.name === name) : own; };
  byId("run").value = String(Math.max(wanted.get("model") ? place(wanted.get("model")) : runs.findIndex(suited), 0));
  const other = wanted.get("against") ? place(wanted.get("against")) : -1;
  byId("other").value = other < 0 ? "" : String(other);
  byId("right").value = wanted.get("right") || "";
  byId("sort").value = wanted.get("sort") || "order";
  byId("search").value = wanted.get("q") || "";
  apply();
  const item = wanted.get("item"), row = item ? data.ids.indexOf(item) : -1;
  if (row >= 0) open(row);
}
function writeAddress() {
  const stated = new URLSearchParams();
  fields().forEach(([name, select]) => { if (select.value) stated.set(name, select.value); });
  const run = runs[byId("run").value], other = runs[byId("other").value];
  if (run) { stated.set("model", run.model); stated.set("way", run.way); }
  if (other) stated.set("against", other.model);
  for (const [key, id] of [["right", "right"], ["q", "search"]]) if (byId(id).value) stated.set(key, byId(id).value);
  if (byId("sort").value !== "order") stated.set("sort", byId("sort").value);
  history.replaceState(null, "", "#" + stated);
}

function apply() {
  const wanted = fields().filter(([, select]) => select.value).map(([name, select]) => {
    const column = data.filters[name];
    return [column.codes, column.values.indexOf(select.value)];
  });
  const run = runs[byId("run").value], other = runs[byId("other").value], right = byId("right").value;
  const words = byId("search").value.trim().toLowerCase(), group = right === "all" || right === "none" ? peers() : [];
  const asked = [...new Set(group.map(one => one.model))].map(model => group.filter(one => one.model === model));
  shown = [];
  for (let row = 0; row < data.ids.length; row++) {
    if (!wanted.every(([codes, code]) => codes[row] === code)) continue;
    if (words && !data.ids[row].toLowerCase().includes(words) && !textOf(row).toLowerCase().includes(words)) continue;
    const own = rightOf(run, row);
    if (right === "wrong" && own !== 0) continue;
    if (right === "half" && !(own > 0 && own < 1)) continue;
    if (right === "right" && own !== 1) continue;
    if (right === "differ" && (own === null || rightOf(other, row) === null || own === rightOf(other, row))) continue;
    if (!asked.every(own => own.some(one => rightOf(one, row) === (right === "all" ? 1 : 0)))) continue;
    shown.push(row);
  }
  const order = byId("sort").value;
  if (order !== "order") {
    const sign = order === "wrong" ? 1 : -1;
    const rank = row => marginOf(run, row) === null ? Infinity : sign * marginOf(run, row);
    shown = shown.filter(row => rightOf(run, row) !== null).sort((a, b) => rank(a) === rank(b) ? 0 : rank(a) - rank(b));
  }
  at = shown.length ? 0 : -1;
  const over = of => { const known = shown.map(row => of(run, row)).filter(one => one !== null); return known.length ? known.reduce((sum, one) => sum + one, 0) / known.length : null; };
  const mean = over(rightOf), paired = over(pairingOf);
  byId("count").textContent = right === "differ" && !other ? "Choose a second model (Against)." : `${shown.length.toLocaleString("en")} of ${data.ids.length.toLocaleString("en")} items` + (mean === null ? "" : `; ${run.title}: ${mean.toFixed(3)} right` + (paired === null ? "" : `, pairing ${paired.toFixed(3)}`));
  byId("legend").textContent = shown.length && run ? legendOf(run) : "";
  byId("rows").style.height = `${shown.length * ROW}px`;
  byId("list").scrollTop = 0;
  draw();
}

/* The smaller difference where there are numbers, else a sign. */
const hasScores = run => run.numbers && !run.way.startsWith("choice");
const markOf = (run, row, right) => hasScores(run) ? say(marginOf(run, row), run.places) : right === 1 ? "✓" : right === 0 ? "✗" : right === null ? "–" : "½";

/* What the marks at the right of the rows say. */
function legendOf(run) {
  const others = peers().filter(one => one !== run).slice(0, 5).map(one => one.name), isEwok = run.benchmark === "ewok";
  const unit = run.way === "logprobs" ? "log probabilities (nats)" : "ratings";
  const what = hasScores(run) ? `${run.name}'s difference of ${unit}, own context minus the other, the smaller of two (green: right about both targets, grey: one, red: none)` : `whether ${run.name} is right (✓)` + (isEwok ? ", half right (½)" : "") + " or wrong (✗)";
  return `At the right of each row: ${what}.` + (others.length ? ` Beside it: ${others.join(", ")}.` : "");
}

function rowOf(place) {
  const row = shown[place], line = make("div", null, {className: "row", id: `row-${row}`});
  line.setAttribute("role", "option");
  line.setAttribute("aria-selected", String(place === at));
  line.style.top = `${place * ROW}px`;
  const text = lineOf(row) || data.ids[row], version = value(data.filters.version, row);
  const numbered = version === null ? null : `${value(data.filters.benchmark, row) === "worldsense" ? "size" : "version"} ${version}`;
  const where = [...["domain", "concept"].map(name => value(data.filters[name], row)), numbered].filter(Boolean).join(" · ");
  const marks = make("div", null, {className: "marks"}), run = runs[byId("run").value];
  const same = peers().filter(one => one.of[row] >= 0);
  [run, ...same.filter(one => one !== run)].filter(one => one && one.of[row] >= 0).slice(0, 6).forEach(one => {
    const right = rightOf(one, row), mark = make("span", markOf(one, row, right), {className: "mark", title: `${one.title}: ${right}`});
    mark.classList.add(right === 1 ? "good" : right === 0 ? "bad" : "half");
    marks.append(mark);
  });
  line.append(make("div", text, {className: "what", lang: langOf(row)}), make("div", `${data.ids[row]} · ${where}`, {className: "where"}), marks);
  line.addEventListener("click", () => { at = place; draw(); open(row); });
  return line;
}
function draw() {
  const list = byId("list"), first = Math.max(Math.floor(list.scrollTop / ROW) - 5, 0);
  const last = Math.min(first + Math.ceil(list.clientHeight / ROW) + 10, shown.length);
  byId("rows").replaceChildren(...Array.from({length: last - first}, (_, k) => rowOf(first + k)));
  if (at >= 0) list.setAttribute("aria-activedescendant", `row-${shown[at]}`); else list.removeAttribute("aria-activedescendant");
}
function move(by) {
  if (!shown.length) return;
  at = Math.min(Math.max(at + by, 0), shown.length - 1);
  const list = byId("list"), top = at * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  draw();
  if (byId("detail").open) open(shown[at]);
}

/* One item. */
const quoted = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
const PAIRS = [[1, 1], [1, 2], [2, 1], [2, 2]];
function scoresTable(run, row) {
  const numbers = run.numbers[run.of[row]], known = numbers.filter(one => one !== null);
  const high = Math.max(...known), low = Math.min(...known) - 0.1 * (high - Math.min(...known)), table = make("table"), body = make("tbody");
  const isLog = run.way === "logprobs", head = make("tr");
  ["Target", "after", isLog ? "log P (nats)" : "value", "higher →"].forEach((text, k) => head.append(make("th", text, {scope: "col", className: k === 2 ? "n" : ""})));
  PAIRS.forEach(([target, context], k) => {
    const line = make("tr"), cell = make("td", null, {className: "barcell"}), other = numbers[k ^ 1], own = numbers[k];
    const bar = make("i", null, {className: own !== null && other !== null && own < other ? "less" : ""});
    bar.style.width = own === null || high === low ? "0" : `${100 * (own - low) / (high - low)}%`;
    cell.append(bar);
    line.append(make("th", `${target}`, {scope: "row"}), make("td", `context ${context}${target === context ? " (its own)" : ""}`), make("td", say(own, run.places), {className: "n"}), cell);
    body.append(line);
  });
  const thead = make("thead"), box = make("div", null, {className: "scroll"});
  thead.append(head);
  table.append(thead, body);
  box.append(table);
  const both = [numbers[0] - numbers[1], numbers[3] - numbers[2]], pairing = pairingOf(run, row);
  const differences = both.map((one, k) => `target ${k + 1}: ${numbers[2 * k] === null || numbers[2 * k + 1] === null ? "–" : (one > 0 ? "+" : "") + say(one, run.places)}`);
  const sum = pairing === null ? "none" : `${say(both[0] + both[1], run.places)}, ${pairing === 1 ? "right" : pairing === 0 ? "wrong" : "a tie"}`;
  return [box, make("p", `What decides, own context minus the other: ${differences.join("; ")}. Pairing (their sum): ${sum}.`)];
}
/* One question of Likert (t1c2: target 1 after context 2) or Choice (t1s: target 1, contexts swapped). */
function question(run, row, k) {
  const [name, reply, number] = [run.asked[k], run.replies[run.of[row]][k], run.numbers[run.of[row]][k]];
  const target = name[1], swapped = name.endsWith("s"), rated = name[2] === "c", box = make("details");
  const wanted = rated ? "" : `; right: ${swapped ? 3 - target : target}`;
  box.append(make("summary", `Target ${target}${rated ? ` after context ${name[3]}` : swapped ? ", contexts swapped" : ""}: wrote ${JSON.stringify(reply)}, read as ${number === null ? "no answer" : number}${wanted}`));
  const of = key => value(texts[key], row), slots = {target: of(`target${target}`), context: of(`context${name[3]}`), context1: of(swapped ? "context2" : "context1"), context2: of(swapped ? "context1" : "context2")};
  box.append(make("pre", run.prompt ? run.prompt.replace(/\{(context[12]?|target)\}/g, (_, slot) => slots[slot]) : "The prompt is not known: its file is not there or has changed."));
  return box;
}
function repliesOf(run, row) {
  const replies = run.replies && run.replies[run.of[row]];
  if (!replies) return [];
  if (!run.asked.length) return [...(replies.talk || []).map(([role, content]) => make("pre", `${role}: ${content}`)), make("p", `Read as: ${replies.answer}; right: ${value(texts.gold, row) || "–"}.`)];
  return replies.map((_, k) => question(run, row, k));
}
const HEADINGS = {worldsense: ["Question"], ewok: ["Context 1", "Context 2", "Target 1", "Target 2"]};
function open(row) {
  const body = byId("body"), list = make("dl", null, {className: "texts"});
  byId("detail-title").textContent = data.ids[row];
  body.replaceChildren();
  const headings = HEADINGS[value(data.filters.benchmark, row)] || ["Context", "", "Right", "Wrong"];
  SHOWN.forEach((name, k) => {
    const text = value(texts[name], row);
    if (text) list.append(make("dt", headings[k]), make("dd", text, {lang: langOf(row)}));
  });
  if (!list.children.length) body.append(make("p", "This page has no text of this item."));
  body.append(list);
  const facts = Object.entries(data.filters).map(([name, column]) => [column.heading, value(column, row)]).filter(([, one]) => one);
  body.append(make("p", facts.map(([heading, one]) => `${heading}: ${one}`).join(" · "), {className: "where"}));
  const people = data.people[row];
  if (people) body.append(make("h3", "People (mean ratings)"), make("p", PAIRS.map(([t, c], k) => `target ${t} after context ${c}: ${say(people[k])}`).join("; ")));
  const answers = make("div", null, {className: "runs"});
  body.append(answers);
  runs.filter(run => run.of[row] >= 0).forEach(run => {
    const right = rightOf(run, row), title = make("h3", `${run.title}: `), part = make("section");
    answers.append(part);
    title.append(make("span", right === 1 ? "right" : right === 0 ? "wrong" : right === null ? "no answer" : "half right", {className: right === 1 ? "good" : right === 0 ? "bad" : "half"}));
    part.append(title);
    if (hasScores(run)) part.append(...scoresTable(run, row));
    else if (run.way.startsWith("choice")) part.append(make("p", "Choice has no pairing: it has two answers per item."));
    part.append(...repliesOf(run, row));
    if (!run.again) return;
    const again = make("details");
    again.append(make("summary", "Ask again"), make("pre", `worldprobe pick ${quoted(value(data.tables, row))} ${quoted(data.ids[row])} --out one.parquet\n${run.again}`));
    part.append(again);
  });
  if (!byId("detail").open) byId("detail").showModal();
  byId("detail").scrollTop = 0;
}

unpack().then(found => {
  data = found;
  runs = data.runs.map(index);
  build();
  readAddress();
  document.body.dataset.ready = "yes";
  const changed = () => { apply(); writeAddress(); };
  byId("filters").addEventListener("change", changed);
  byId("filters").addEventListener("submit", event => event.preventDefault());
  let waiting;
  byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, 150); });
  byId("clear").addEventListener("click", () => { location.hash = ""; readAddress(); });
  window.addEventListener("hashchange", readAddress);
  byId("list").addEventListener("scroll", draw);
  window.addEventListener("resize", draw);
  byId("close").addEventListener("click", () => byId("detail").close());
  byId("detail").addEventListener("close", () => byId("list").focus());
  byId("before").addEventListener("click", () => move(-1));
  byId("after").addEventListener("click", () => move(1));
  document.addEventListener("keydown", event => {
    const isTyping = /^(INPUT|SELECT)$/.test(document.activeElement.tagName);
    if (event.key === "/" && !isTyping) { event.preventDefault(); byId("search").focus(); }
    if (isTyping) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); move(event.key === "ArrowDown" ? 1 : -1); }
    if (event.key === "Enter" && document.activeElement === byId("list") && at >= 0) { event.preventDefault(); open(shown[at]); }
  });
}).catch(error => { byId("count").textContent = `This page cannot be read: ${error.message}. A browser of 2023 or later is needed.`; });
