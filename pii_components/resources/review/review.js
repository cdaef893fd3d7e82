// The page of `pii-edu review`. Offsets of the server count characters, those of the DOM count UTF-16: `Text` turns one into the other.
"use strict";
const $ = (id) => document.getElementById(id);
const WORD = /[\p{L}\p{M}\p{N}]+(?:[@._'’-]+[\p{L}\p{M}\p{N}]+)*/gu;
// The document that is open, its text, its spans, and which of them is looked at.
let doc = null, text = null, items = [], current = -1, selecting = false;
// The list: where its page begins, and its rows. The value that is open. Documents in which values were decided, for undo.
let first = 0, rows = [], value = null, undos = [];
// The last decision, and the other mentions for which it may hold.
let action = 0, picked = null;
const body = document.body.dataset;

class Text {
  constructor(content) {
    this.content = content;
    this.units = [0];
    for (const sign of content) this.units.push(this.units.at(-1) + sign.length);
  }
  unit(n) { return this.units[n]; }
  sign(unit) {  // the character that a place in UTF-16 lies in
    let low = 0, high = this.units.length - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (this.units[mid] <= unit) low = mid; else high = mid - 1; }
    return low;
  }
  cut(start, end) { return this.content.slice(this.units[start], this.units[end]); }
}

function make(tag, about = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}
const title = (row) => (row.name === String(row.number) ? `Document ${row.number}` : row.name);
const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

function tell(line, error = false) {
  $("status").textContent = line;
  $("status").classList.toggle("error", error);
  clearTimeout(tell.timer);
  if (!error) tell.timer = setTimeout(() => { $("status").textContent = ""; }, 6000);
}

const asked = (more = {}) => new URLSearchParams(Object.entries({ ...Object.fromEntries(new FormData($("filters"))), ...more }).filter(([, given]) => given));
async function api(path, sent, more) {
  const how = sent ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(sent) } : {};
  let answer;
  try { answer = await fetch(`api/${path}?${asked(more)}`, how); } catch { throw new Error(`The page has lost its server. Start ${body.command} again; decisions are kept.`); }
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  if (data.progress) showProgress(data.progress);
  return data;
}
// One thing at a time: a key that comes while the server works waits for its answer.
function work(todo) {
  work.line = (work.line || Promise.resolve()).then(todo).catch((err) => tell(err.message, true));
  return work.line;
}

function showProgress(now) {
  const left = now.minutes === null || now.reviewed === now.documents ? []
    : [now.minutes < 90 ? `about ${Math.max(1, Math.round(now.minutes))} min left` : `about ${(now.minutes / 60).toFixed(1)} h left`];
  $("done").textContent = [`${now.reviewed} of ${plural(now.documents, "document")} reviewed`, `${now.decided} of ${plural(now.spans, "span")} decided`, ...left].join(" · ");
  $("bar").max = now.documents || 1;
  $("bar").value = now.reviewed;
}

// The list: documents, or values ----------------------------------------------------------------------------------------
async function showList() {
  const data = await api(body.list, null, { start: first });
  if (first && first >= data.listed) { first = Math.max(0, first - data.page); return showList(); }
  rows = data.documents || data.values;
  $("rows").replaceChildren(...rows.map((row) => make("li", {}, body.list === "values" ? valueButton(row) : documentButton(row))));
  const last = first + rows.length;
  $("shown").textContent = data.listed ? `${first + 1}–${last} of ${data.listed}` : "none";
  $("earlier").disabled = !first;
  $("later").disabled = last >= data.listed;
  if ($("sample").open) await showSample();
  return rows;
}
function rowButton(name, number, what, isOpened, facts, then, more = []) {
  const button = make("button", { "aria-current": isOpened ? "true" : null, "aria-label": `${name}, ${what} ${number}, ${facts.join(", ")}` },
    make("span", {}, name), make("span", { class: "risk", title: what }, number), make("span", { class: "soft" }, facts.join(" · ")), ...more);
  button.addEventListener("click", then);
  return button;
}
function documentButton(row) {
  const told = [plural(row.spans, "span")];
  if (row.suspects) told.push(`${row.suspects} in clear`);
  if (row.reviewed) told.push("✓ reviewed");
  if (row.drawn) told.push("drawn at random");
  const excerpt = row.excerpt ? [make("span", { class: "soft" }, `… ${row.excerpt[0]}`, make("b", {}, row.excerpt[1]), `${row.excerpt[2]} …`)] : [];
  return rowButton(title(row), row.risk.toFixed(1), "risk", body.main === "document" && doc && doc.number === row.number, told, () => open(row.number), excerpt);
}
const keyOf = (row) => ({ value: row.value, of: row.label, whose: row.role });
const isSame = (one, other) => one && other && one.value === other.value && one.label === other.label && one.role === other.role;
const nameOf = (row) => [row.label || "in clear, not found", row.role].filter(Boolean).join(" · ");
function valueFacts(row) {
  const told = [nameOf(row), plural(row.places, "place"), plural(row.documents, "document"), row.hidden === row.places ? "hidden" : row.hidden ? `${row.hidden} hidden` : "in clear"];
  return [...told, row.open ? `${row.open} to decide` : "✓ decided"];
}
const valueButton = (row) => rowButton(row.text, String(row.places), "places", body.main === "value" && isSame(row, value), valueFacts(row), () => openValue(row));

function show(view, main = body.main) {
  body.view = view;
  body.main = main;
  $("document").hidden = !doc;
  $("value").hidden = !value;
  if (view === "main") scrollTo(0, 0);
}
function listOf(what) {
  body.list = what;
  first = 0;
  for (const name of ["documents", "values"]) $(`tab-${name}`).setAttribute("aria-pressed", name === what);
  return work(showList).then(toList);
}
function toList() {
  show("list");
  ($("rows").querySelector("[aria-current]") || $("rows").querySelector("button") || $("left")).focus();
}

// The random sample -----------------------------------------------------------------------------------------------------
const percent = (part) => `${(100 * part).toPrecision(2)} %`;
async function showSample() {
  const now = await api("sample");
  const most = (part) => `at most ${percent(part)} of the ${now.of} documents leak (at 95 %)`;
  const lines = now.size
    ? [`${now.reviewed} of the ${plural(now.size, "document")} drawn are reviewed; ${now.with_a_miss} of them leak.`,
      `${now.reviewed < now.size ? "If all are reviewed and no other leaks" : "Estimate"}: ${most(now.upper_95)}.`,
      `Into the report: pii-edu audit OUTPUT --review DIR --sample ${now.size} --seed ${now.seed}`]
    : [`${plural(now.needed ?? now.of, "document")} of ${now.of}, without a leak, show that at most 5 % leak (at 95 %).`];
  $("sample-text").replaceChildren(...[...lines, "Only documents drawn here count for the estimate; those shown for their risk do not."].map((line) => make("span", {}, line)));
  const field = $("sample-size");
  Object.assign(field, { min: now.size || 1, max: now.of });
  if (document.activeElement !== field) field.value = now.size || now.needed || now.of;
  $("sample-draw").textContent = now.size ? "Draw more" : "Draw";
}
function drawSample(event) {
  event.preventDefault();
  work(async () => {
    await api("sample", { size: Number($("sample-size").value) });
    $("only-sample").checked = true;
    first = 0;
    const [row] = await showList();
    tell("Drawn. The list shows the sample alone; read every document of it.");
    if (row) open(row.number);
  });
}

// A document ------------------------------------------------------------------------------------------------------------
const open = (number, at = null) => work(async () => {
  action = 0;
  take(await api(`documents/${number}`));
  history.replaceState(null, "", `#${number}`);
  show("main", "document");
  await showList();
  const wanted = items.findIndex((item) => (at === null ? item.wanted && isOpen(item) : item.start === at));
  focus(wanted >= 0 ? wanted : items.length ? Math.max(0, items.findIndex((item) => item.wanted)) : -1);
  const words = $("words-all").value;
  if (words && at === null && doc.text.toLowerCase().includes(words.trim().toLowerCase())) selectWords(words);
  if (!items.length) { $("text").focus({ preventScroll: true }); tell("Nothing was found in this document. Read it, then mark it as reviewed."); }
});

const isOpen = (item) => item.open;
const isName = (label) => label.startsWith("NAME_");
const isLine = (item) => item.label === "HEADER";
const DETAILS = ["EMAIL", "USERNAME", "ID_NUM", "PHONE_NUM", "URL_PERSONAL", "STREET_ADDRESS", "IP_ADDRESS"];
function kindOf(item) {
  if (item.state === "suspect" || item.state === "rejected") return item.state;
  if (isLine(item)) return "line";
  if (isName(item.label)) return item.label.slice(5).toLowerCase();
  return DETAILS.includes(item.label) ? "detail" : "indirect";
}
function tagOf(item) {
  if (item.state === "suspect") return "in clear?";
  if (item.state === "rejected") return isLine(item) ? "line stays ✓" : "not personal ✓";
  const whose = item.role && !isName(item.label) ? ` · ${item.role}` : "", gone = item.action === "remove" ? " · removed" : "";
  return (isLine(item) ? "line removed" : item.label.replace("NAME_", "").replace("_", " ") + whose + gone) + (isOpen(item) ? "" : " ✓");
}
const fate = (item) => item.state === "suspect" ? "in clear" : item.action === "keep" ? "stays" : item.action === "remove" ? "removed" : `hidden: ${item.action}`;
const verdict = { found: "not decided", suspect: "not decided", accept: "accepted", rejected: "rejected", relabel: "relabelled", add: "added" };
function facts(item) {
  const score = item.score === null || item.score === undefined ? [] : [`score ${item.score.toFixed(2)}`];
  const role = item.role && item.label !== `NAME_${item.role}` ? [`role ${item.role}`] : [];
  return [item.label || "no label", ...role, fate(item), ...score, verdict[item.state]];
}

function take(answer) {
  doc = answer;
  text = new Text(doc.text);
  items = [];
  for (const item of doc.items) if (!items.length || item.start >= items.at(-1).end) items.push(item);
  selecting = false;
  $("text").classList.remove("selecting");
  $("name").textContent = title(doc);
  const told = [doc.at ? `No. ${doc.at} of the list` : "Not in this list", `risk ${doc.risk.toFixed(1)}`, `${plural(items.filter(isOpen).length, "span")} not decided`];
  if (doc.missed) told.push(`${plural(doc.missed, "protected span")} had been left in clear`);
  if (doc.drawn) told.push("drawn at random: counts for the estimate");
  $("about").textContent = told.join("; ");
  $("mark").replaceChildren(doc.reviewed ? "✓ Reviewed " : "Mark as reviewed ", make("kbd", {}, "m"));
  $("mark").classList.toggle("done", doc.reviewed);
  $("mark").setAttribute("aria-pressed", doc.reviewed);
  document.querySelector('#document [data-key="["]').disabled = !doc.before.length;
  document.querySelector('#document [data-key="]"]').disabled = !doc.after.length;
  $("undo").disabled = !doc.can_undo;
  $("same").hidden = true;
  let at = 0;
  const pieces = [];
  items.forEach((item, i) => {
    pieces.push(text.cut(at, item.start));
    const words = text.cut(item.start, item.end), hides = item.action === "keep" ? "" : item.action === "remove" ? " remove" : " hide";
    const made = make("span", { class: `item ${kindOf(item)}${hides}${item.wanted ? "" : " other"}`, role: "button", tabindex: "-1", "data-tag": tagOf(item),
      "aria-label": `${words}: ${[...facts(item), item.reason].filter(Boolean).join(", ")}` }, words);
    made.addEventListener("click", () => { if (getSelection().isCollapsed) focus(i); });
    pieces.push(made);
    at = item.end;
  });
  $("text").replaceChildren(...pieces, text.cut(at, text.units.length - 1));
  showRelease();
  focus(-1);
}

// What would stand in OUTPUT if it were written now: the surrogates of that run where nothing has changed, "[LABEL]" where a new one would be made.
function showRelease() {
  const release = doc.release === null ? null : new Text(doc.release), marks = [], meets = (one, two) => one.start < two.end && two.start < one.end;
  const asRun = (item) => isOpen(item) || (item.was === item.label && item.action !== "keep");
  for (const [start, end, from, to] of release ? doc.edits : []) {
    const over = items.filter((item) => meets(item, { start, end }));
    const stands = from === to ? over.every((item) => item.action === "remove") : over.every(asRun);
    if (stands) marks.push({ start, end, words: release.cut(from, to), what: from === to ? "new gone" : "new" });
  }
  for (const item of items) {
    if (marks.some((mark) => meets(mark, item))) continue;
    const asBefore = release && isOpen(item) && !doc.edits.some(([start, end]) => meets(item, { start, end }));
    const hides = item.action !== "keep" && !asBefore;
    const words = !hides ? text.cut(item.start, item.end) : item.action === "remove" ? "" : `[${item.label}]`;
    marks.push({ start: item.start, end: item.end, words, what: hides ? `new made${words ? "" : " gone"}` : "same" });
  }
  let at = 0;
  const pieces = [];
  for (const { start, end, words, what } of marks.sort((one, two) => one.start - two.start)) {
    pieces.push(text.cut(at, start), make("mark", { class: what, "data-start": start, "data-end": end }, words));
    at = end;
  }
  $("release").replaceChildren(...pieces, text.cut(at, text.units.length - 1));
  if (!release) $("release").prepend(make("p", { class: "soft" }, "OUTPUT does not hold this text any more; its surrogates are not known."));
}

const scrolls = (id) => getComputedStyle($(id)).overflowY === "auto";  // else the whole page does

function focus(i) {
  current = i;
  if (i >= 0 && selecting) { selecting = false; $("text").classList.remove("selecting"); getSelection().removeAllRanges(); }
  const marks = [...$("text").querySelectorAll(".item")];
  marks.forEach((mark, j) => {
    mark.tabIndex = j === Math.max(0, i) ? 0 : -1;
    if (j === i) mark.setAttribute("aria-current", "true"); else mark.removeAttribute("aria-current");
  });
  const item = items[i];
  const button = (key) => document.querySelector(`#document .actions [data-key="${key}"]`);
  for (const key of "axr") button(key).disabled = !item || (key === "a" && !item.label && item.state !== "suspect");
  for (const key of "np") button(key).disabled = !items.length;
  document.querySelectorAll("#release mark").forEach((mark) => {
    mark.classList.toggle("now", Boolean(item) && Number(mark.dataset.start) < item.end && item.start < Number(mark.dataset.end));
  });
  if (!item) {
    const hint = items.length ? `${plural(items.length, "span")}; n goes to the first.` : "No spans. i adds what you select.";
    $("span").replaceChildren(make("p", { class: "soft" }, hint));
    return;
  }
  const now = document.querySelector("#release mark.now");
  const became = !now || !now.classList.contains("new") ? "" : now.textContent ? ` in the release: ${now.textContent}` : " removed in the release";
  const chips = facts(item).map((fact) => make("span", { class: "chip" }, fact));
  const source = item.source && item.source !== item.reason ? ` (${item.source})` : "";
  $("span").replaceChildren(
    make("p", {}, make("b", {}, text.cut(item.start, item.end)), ...chips, make("span", { class: "soft" }, became)),
    make("p", { class: "soft" }, `${i + 1} of ${items.length}. ${item.reason || "No reason was recorded"}${source}`),
  );
  marks[i].focus({ preventScroll: true });
  marks[i].scrollIntoView({ block: "center" });
  if (now && scrolls("release")) now.scrollIntoView({ block: "nearest" });
}

// Decisions -------------------------------------------------------------------------------------------------------------
const DONE = { accept: "Accepted", reject: "Rejected", relabel: "Relabelled", add: "Added" };
function decide(what, start, end, label = "", role = "") {
  return work(async () => {
    const words = text.cut(start, end), answer = await api(`documents/${doc.number}/decide`, { do: what, at: [[doc.number, start, end]], label, role });
    take(answer);
    action = answer.action;
    tell(`${DONE[what]}: ${words}`);
    const next = items.findIndex((item) => item.start >= start && isOpen(item) && item.wanted);  // what stands in a line that stays, too
    focus(next >= 0 ? next : items.findIndex((item) => item.start === start));
    offer(words);
  });
}
async function offer(words) {  // not waited for: a large corpus takes a while
  const number = doc.number, about = action;
  try {
    const others = await api(`documents/${number}/others/${about}`);
    if (about !== action || doc.number !== number || !others.mentions) return;
    picked = { ...others, words, number };
    $("same").replaceChildren(`Same for ${plural(others.mentions, "other mention")}… `, make("kbd", {}, "g"));
    $("same").hidden = false;
  } catch (err) { tell(err.message, true); }
}
const atOf = (place) => JSON.stringify([place.number, place.start, place.end]);
function tickable(place, told = [], ticked = true) {
  const box = make("input", { type: "checkbox", "data-at": atOf(place) });
  box.checked = ticked;
  return make("li", {}, make("label", {}, box, make("span", {}, `${title(place)}: … ${place.parts[0]}`, make("b", {}, place.parts[1]), `${place.parts[2]} …`,
    ...told.map((fact) => make("span", { class: "chip" }, fact)))));
}
const boxes = (id) => [...$(id).querySelectorAll("input")];
const ticked = (id) => boxes(id).filter((box) => box.checked).map((box) => JSON.parse(box.dataset.at));
function showOthers(then) {
  $("others-title").textContent = `The same for ${plural(picked.mentions, "other mention")}`;
  const part = picked.mentions > picked.shown.length ? `; the first ${picked.shown.length}:` : ":";
  $("others-what").textContent = `“${picked.words}” in ${plural(picked.documents, "document")}, not decided about yet${part}`;
  $("others-list").replaceChildren(...picked.shown.map((place) => tickable(place)));
  ask("others", () => work(async () => {
    const at = ticked("others-list");
    if (!at.length) { tell("Nothing is ticked."); return; }
    await then(await api(`documents/${picked.number}/decide`, { do: picked.do, at, label: picked.label, role: picked.role }));
    tell(`Decided the same about ${plural(at.length, "other mention")}.`);
    await showList();
  }));
}
function ask(id, then) {
  const dialog = $(id);
  dialog.onkeydown = (event) => {
    if (event.key !== "Enter" || !event.target.matches("select, [type=checkbox]")) return;
    event.preventDefault();
    dialog.querySelector("form").requestSubmit();
  };
  dialog.querySelector("form").onsubmit = (event) => { event.preventDefault(); dialog.close(); then(); };
  dialog.showModal();
}
function askLabel(heading, words, known, then) {
  $("labels-title").textContent = heading;
  $("labels-value").textContent = words;
  $("label").value = known.label || (/\d/.test(words) ? "ID_NUM" : "NAME_STUDENT");
  $("role").value = known.role && !isName(known.label) ? known.role : "";
  $("label").onchange = () => { $("role").disabled = isName($("label").value); };
  $("label").onchange();
  ask("labels", () => then($("label").value, $("role").disabled ? "" : $("role").value));
  $("label").focus();
}
const askSpan = (what, start, end, known) => askLabel(what === "add" ? "Hide or remove this as" : "Change the label", text.cut(start, end), known,
  (label, role) => decide(what, start, end, label, role));
function giveLabel(label) {  // by a number key: to what is selected, or to the span
  const chosen = selection(), item = chosen ? items.find((one) => one.start === chosen[0] && one.end === chosen[1]) : items[current];
  const [start, end] = chosen || (item ? [item.start, item.end] : []);
  if (start === undefined) { tell("Go to a span first (n), or select words."); return; }
  const known = item && !["suspect", "rejected"].includes(item.state);
  decide(!known ? "add" : item.label === label ? "accept" : "relabel", start, end, label, known && !isName(item.label) ? item.role : "");
}

// A value and its places ------------------------------------------------------------------------------------------------
const openValue = (row) => work(() => loadValue(row));
async function loadValue(row) {
  value = (await api("value", null, keyOf(row))).value;
  if (!value) { tell("This value is not in the list any more."); value = null; await showList(); show("list"); return; }
  $("value-name").textContent = value.text;
  $("value-about").textContent = valueFacts(value).join("; ") + (value.places > value.shown.length ? `; the first ${value.shown.length} are shown` : "");
  $("places").replaceChildren(...value.shown.map((place) => {
    const told = place.open ? [] : [verdict[place.state]], opener = make("button", { "aria-label": `Open ${title(place)}` }, "Open");
    if (place.score !== null) told.push(`score ${place.score.toFixed(2)}`);
    opener.addEventListener("click", () => open(place.number, place.start));
    const row = tickable(place, told, place.open);
    row.append(opener);
    return row;
  }));
  document.querySelector('#value .actions [data-key="a"]').disabled = !value.label;
  show("main", "value");
  await showList();
  boxes("places")[0].focus();
}
function decideValue(what, label = "", role = "") {
  const at = ticked("places"), before = value, seen = new Set(boxes("places").map((box) => box.dataset.at));
  if (!at.length) { tell("Tick the places first: Space, or t for all."); return; }
  work(async () => {
    const [number] = at[0], answer = await api(`documents/${number}/decide`, { do: what, at, label, role });
    undos.push([number, before]);
    tell(`${DONE[what]}: ${before.text}, ${plural(at.length, "place")}. u undoes.`);
    first = 0;
    await showList();
    const others = await api(`documents/${number}/others/${answer.action}`);
    const shown = others.shown.filter((place) => !seen.has(atOf(place)));  // what was not ticked is not asked about again
    if (shown.length) {
      picked = { ...others, shown, mentions: shown.length, documents: new Set(shown.map((place) => place.number)).size, words: before.text, number };
      await loadValue(before);
      showOthers(async () => { undos.push([number, before]); });
    } else nextValue(before);
  });
}
function nextValue(after) {
  const next = rows.find((row) => row.open && !isSame(row, after));
  if (next) { openValue(next); return; }
  value = null;
  toList();
  tell(`${$("status").textContent} All values of the list are decided.`);
}
const relabelValue = () => askLabel(value.label ? "Change the label of all that is ticked" : "Hide all that is ticked as", value.text, value,
  (label, role) => decideValue(value.label ? "relabel" : "add", label, role));
function labelValue(label) {  // by a number key
  const what = !value.label ? "add" : value.label === label ? "accept" : "relabel";
  decideValue(what, label, value.label && !isName(value.label) ? value.role : "");
}

// Selecting -----------------------------------------------------------------------------------------------------------
function selection() {  // characters, if some text of the original is selected
  const chosen = getSelection();
  if (chosen.isCollapsed || !chosen.rangeCount || !$("text").contains(chosen.getRangeAt(0).commonAncestorContainer)) return null;
  const range = chosen.getRangeAt(0), before = document.createRange();
  before.selectNodeContents($("text"));
  before.setEnd(range.startContainer, range.startOffset);
  const start = before.toString().length, value = range.toString(), blank = value.length - value.trimStart().length;
  return [text.sign(start + blank), text.sign(start + blank + value.trim().length)];
}
function select(start, end) {
  const point = (unit, isEnd) => {
    const walker = document.createTreeWalker($("text"), NodeFilter.SHOW_TEXT);
    let at = 0, node = null;
    while ((node = walker.nextNode())) {
      const size = node.data.length;
      if (unit < at + size || (isEnd && unit === at + size)) return [node, unit - at];
      at += size;
    }
    return [$("text"), $("text").childNodes.length];
  };
  getSelection().setBaseAndExtent(...point(text.unit(start), false), ...point(text.unit(end), true));
  const box = getSelection().getRangeAt(0).getBoundingClientRect(), pane = $("text").getBoundingClientRect();
  if (scrolls("text")) $("text").scrollTop += box.top - pane.top - pane.height / 2;
  else scrollBy(0, box.top - innerHeight / 3);
  tell(`Selected: ${text.cut(start, end)}`);
}
const words = () => [...doc.text.matchAll(WORD)].map((found) => [text.sign(found.index), text.sign(found.index + found[0].length)]);
function startSelecting() {
  const chosen = selection();
  if (chosen) { add(chosen); return; }
  const all = words(), from = current >= 0 ? items[current].end : 0;
  if (!all.length) return;
  selecting = true;
  $("text").classList.add("selecting");
  $("text").focus({ preventScroll: true });
  select(...(all.find(([start]) => start >= from) || all[0]));
}
function stopSelecting() {
  selecting = false;
  $("text").classList.remove("selecting");
  getSelection().removeAllRanges();
  focus(current);
}
function add([start, end]) {
  const exact = items.findIndex((item) => item.start === start && item.end === end);
  getSelection().removeAllRanges();
  selecting = false;
  $("text").classList.remove("selecting");
  askSpan(exact >= 0 && items[exact].state === "found" ? "relabel" : "add", start, end, exact >= 0 ? items[exact] : {});
}
function move(event) {
  const all = words(), chosen = selection() || all[0], [start, end] = chosen, far = { ArrowUp: -10, ArrowDown: 10, ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.shiftKey && event.altKey) { select(start, Math.max(start + 1, Math.min(text.units.length - 1, end + Math.sign(far)))); return; }
  let i = event.shiftKey ? all.findLastIndex((word) => word[0] < end) : all.findLastIndex((word) => word[0] <= start);
  i = Math.max(0, Math.min(all.length - 1, i + far));
  if (event.shiftKey) select(start, Math.max(all[i][1], all.find((word) => word[1] > start)[1])); else select(...all[i]);
}
function selectWords(given) {
  const wanted = given.trim().toLowerCase(), all = doc.text.toLowerCase(), chosen = selection(), from = chosen ? text.unit(chosen[1]) : 0;
  const at = wanted ? [all.indexOf(wanted, from), all.indexOf(wanted)].find((found) => found >= 0) : undefined;
  if (at === undefined || all.length !== doc.text.length) { tell("Not in this text.", true); return; }
  selecting = true;
  $("text").classList.add("selecting");
  $("text").focus({ preventScroll: true });
  select(text.sign(at), text.sign(at + wanted.length));
}
function find() {
  ask("find", () => selectWords($("words").value));
  $("words").select();
}

// Keys ------------------------------------------------------------------------------------------------------------------
function step(by) {  // to the next span that is wanted
  const all = [...items.keys()], some = all.filter((i) => items[i].wanted), order = some.length ? some : all;
  if (!order.length) return;
  focus(by > 0 ? order.find((i) => i > current) ?? order[0] : order.findLast((i) => i < current) ?? order.at(-1));
}
function stepPlace(by) {
  const all = boxes("places"), at = all.indexOf(document.activeElement);
  all[(at + by + all.length) % all.length].focus();
}
const neighbour = (by) => { const row = rows[rows.findIndex((one) => isSame(one, value)) + by]; if (row) openValue(row); };
const onSpan = (todo) => () => { if (items[current]) todo(items[current]); else tell("Go to a span first: n."); };
const isLabelled = (item) => item.state !== "suspect" && item.state !== "rejected";
const mark = async (reviewed) => {
  const answer = await api(`documents/${doc.number}/reviewed`, { reviewed }), i = current;
  take(answer);
  focus(i);
  const left = answer.missed ? plural(answer.missed, "protected span") : "nothing";
  tell(answer.reviewed ? `Reviewed; the release had left ${left} in clear. o goes on.` : "No longer marked.");
};
const next = async () => {
  const left = (await api("documents", null, { left: "true" })).documents.find((row) => row.number !== doc.number);
  if (left) { open(left.number); return; }
  await showList();
  tell("All documents of the list are reviewed.");
};
function undone({ undone: what }) {
  tell(!what ? "Nothing to undo here." : `Undone: ${what.do}${what.mentions > 1 ? `, ${what.mentions} mentions` : ""}`);
}
const DOCUMENT_KEYS = {
  n: () => step(1), p: () => step(-1),
  a: onSpan((item) => (isLabelled(item) ? decide("accept", item.start, item.end) : askSpan("add", item.start, item.end, item))),
  x: onSpan((item) => decide("reject", item.start, item.end)),
  r: onSpan((item) => askSpan(item.state === "suspect" || isLine(item) ? "add" : "relabel", item.start, item.end, item)),
  i: startSelecting, "/": find,
  g: () => { if (!$("same").hidden) showOthers((answer) => { const i = current; take(answer); focus(Math.min(i, items.length - 1)); }); },
  u: () => work(async () => {
    const answer = await api(`documents/${doc.number}/undo`, {}), i = current;
    action = 0;
    take(answer);
    focus(Math.min(Math.max(i, 0), items.length - 1));
    undone(answer);
    await showList();
  }),
  m: () => work(async () => { await mark(!doc.reviewed); await showList(); }),
  d: () => work(async () => { await mark(true); await next(); }),
  o: () => work(next),
  "[": () => doc.before.length && open(doc.before[0]), "]": () => doc.after.length && open(doc.after[0]),
};
const VALUE_KEYS = {
  n: () => stepPlace(1), p: () => stepPlace(-1),
  t: () => { const all = boxes("places"), on = !all.every((box) => box.checked); all.forEach((box) => { box.checked = on; }); },
  a: () => { if (value.label) decideValue("accept", value.label, value.role); else relabelValue(); },
  x: () => decideValue("reject"),
  r: relabelValue,
  u: () => work(async () => {
    if (!undos.length) { tell("Nothing to undo here."); return; }
    const [number, row] = undos.pop();
    undone(await api(`documents/${number}/undo`, {}));
    await loadValue(row);
  }),
  o: () => work(async () => { first = 0; await showList(); nextValue(value); }),
  "[": () => neighbour(-1), "]": () => neighbour(1),
  Enter: () => { const [number, start] = JSON.parse(document.activeElement.dataset.at || "[]"); if (number) open(number, start); },
};
document.querySelectorAll("#document .numbers button").forEach((button, i) => {
  const { key } = button.dataset, label = $("label").options[i].value;
  DOCUMENT_KEYS[key] = () => giveLabel(label);
  VALUE_KEYS[key] = () => labelValue(label);
});
const ANYWHERE = {
  l: toList,
  v: () => {  // back from a document to the value that it was opened from; else the other list
    const isBack = value && body.list === "values" && body.main === "document" && body.view === "main";
    if (isBack) openValue(value); else listOf(body.list === "values" ? "documents" : "values");
  },
  f: () => $("left").click(),
  s: () => { show("list"); $("words-all").select(); },
  w: () => { show("list"); $("more").open = true; $("more").querySelector("select").focus(); },
  "?": () => ask("help", () => {}),
};
const todoOf = (key) => ANYWHERE[key] || (body.view !== "main" ? null : body.main === "value" ? VALUE_KEYS[key] : doc && DOCUMENT_KEYS[key]);
document.addEventListener("keydown", (event) => {
  const inDialog = document.querySelector("dialog[open]"), typing = event.target.matches("input:not([type=checkbox]), select");
  if (inDialog || event.ctrlKey || event.metaKey) return;
  if (typing) {
    if (event.target.form === $("filters") && ["Enter", "Escape"].includes(event.key)) { event.preventDefault(); narrow().then(toList); }
    return;
  }
  if (selecting && event.key.startsWith("Arrow")) { event.preventDefault(); move(event); return; }
  if (selecting && event.key === "Enter") { event.preventDefault(); add(selection()); return; }
  if (selecting && event.key === "Escape") { event.preventDefault(); stopSelecting(); return; }
  if (event.key === "Enter" && event.target.matches(".item")) { event.preventDefault(); DOCUMENT_KEYS.r(); return; }
  if (event.key === "Enter" && !event.target.matches("#places input")) return;
  const todo = event.altKey ? null : todoOf(event.key);
  if (todo) { event.preventDefault(); todo(); }
});
document.querySelectorAll("[data-key]").forEach((button) => {
  const { key } = button.dataset;
  button.setAttribute("aria-keyshortcuts", key);
  button.addEventListener("mousedown", (event) => event.preventDefault());  // what is selected, or ticked, keeps the focus
  const keys = button.closest("#value") ? VALUE_KEYS : DOCUMENT_KEYS;
  button.addEventListener("click", () => (ANYWHERE[key] || keys[key])());
});
for (const section of document.querySelectorAll("main > section")) {  // who works there means its keys
  for (const what of ["focusin", "pointerdown"]) section.addEventListener(what, () => { body.view = "main"; });
}
document.querySelectorAll("dialog .close").forEach((button) => button.addEventListener("click", () => button.closest("dialog").close()));
async function refilter() {  // what is open tells what is wanted in it, too
  const inText = $("text").contains(document.activeElement), i = current;
  first = 0;
  await showList();
  if (doc && body.main === "document") { take(await api(`documents/${doc.number}`)); focus(inText ? i : -1); }
}
const narrow = () => { clearTimeout(narrow.timer); return work(refilter); };
$("filters").addEventListener("submit", (event) => event.preventDefault());
$("filters").addEventListener("reset", () => setTimeout(narrow));
$("filters").addEventListener("input", (event) => {
  clearTimeout(narrow.timer);
  if (event.target.matches("select, [type=checkbox]")) narrow(); else narrow.timer = setTimeout(narrow, 300);
});
$("tab-documents").addEventListener("click", () => listOf("documents"));
$("tab-values").addEventListener("click", () => listOf("values"));
$("sample").addEventListener("toggle", () => { if ($("sample").open) work(showSample); });
$("sample-form").addEventListener("submit", drawSample);
$("earlier").addEventListener("click", () => { first = Math.max(0, first - 50); work(showList); });
$("later").addEventListener("click", () => { first += 50; work(showList); });
work(async () => {
  const [row] = await showList(), wanted = Number(location.hash.slice(1));
  if (wanted) open(wanted);
  else if (matchMedia("(min-width: 900px)").matches && row) open(row.number);
  else show("list");
});
