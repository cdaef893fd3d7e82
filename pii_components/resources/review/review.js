// The page of `pii-edu review`. Offsets of the server count characters, those of the DOM count UTF-16: `Text` turns one into the other.
"use strict";
const $ = (id) => document.getElementById(id);
const WORD = /[\p{L}\p{M}\p{N}]+(?:[@._'’-]+[\p{L}\p{M}\p{N}]+)*/gu;
let doc = null, text = null, items = [], current = -1, first = 0, action = 0, picked = null, selecting = false;

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

async function api(path, body) {
  const sent = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  let answer;
  try { answer = await fetch(`api/${path}`, sent); } catch { throw new Error("The page has lost its server. Start pii-edu review again; decisions are kept."); }
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}
// One thing at a time: a key that comes while the server works waits for its answer.
function work(todo) {
  work.line = (work.line || Promise.resolve()).then(todo).catch((err) => tell(err.message, true));
  return work.line;
}

async function showList() {
  const data = await api(`documents?start=${first}&unreviewed=${$("unreviewed").checked}`);
  if (first && first >= data.listed) { first = Math.max(0, first - data.page); return showList(); }
  $("progress").textContent = `${data.reviewed} of ${plural(data.all, "document")} reviewed`;
  $("documents").replaceChildren(...data.documents.map((row) => {
    const facts = [plural(row.spans, "span")];
    if (row.suspects) facts.push(`${row.suspects} in clear`);
    if (row.reviewed) facts.push("reviewed");
    const button = make("button", { "data-number": row.number, "aria-current": doc && doc.number === row.number ? "true" : null,
      "aria-label": `${title(row)}, risk ${row.risk.toFixed(1)}, ${facts.join(", ")}` },
      make("span", {}, title(row)), make("span", { class: "risk", title: "expected mistakes" }, row.risk.toFixed(1)), make("span", { class: "soft" }, facts.join(" · ")));
    button.addEventListener("click", () => open(row.number));
    return make("li", {}, button);
  }));
  const last = first + data.documents.length;
  $("shown").textContent = data.listed ? `${first + 1}–${last} of ${data.listed}` : "none left";
  $("earlier").disabled = !first;
  $("later").disabled = last >= data.listed;
  return data;
}

const open = (number) => work(async () => {
  action = 0;
  take(await api(`documents/${number}`));
  history.replaceState(null, "", `#${number}`);
  show("document");
  await showList();
  focus(items.length ? Math.max(0, items.findIndex(isOpen)) : -1);
  if (!items.length) { $("text").focus({ preventScroll: true }); tell("Nothing was found in this document. Read it, then mark it as reviewed."); }
});
function show(view) { document.body.dataset.view = view; $("document").hidden = !doc; if (view === "document") scrollTo(0, 0); }

const isOpen = (item) => item.state === "found" || item.state === "suspect";
const kindOf = (item) => item.label === "HEADER" ? (item.action === "remove" ? "removed" : "rejected") : item.state === "suspect" || item.state === "rejected" ? item.state
  : item.label.startsWith("NAME_") ? item.label.slice(5).toLowerCase() : ["EMAIL", "USERNAME", "ID_NUM", "PHONE_NUM", "URL_PERSONAL", "STREET_ADDRESS"].includes(item.label) ? "detail" : "indirect";
const tagOf = (item) => item.state === "suspect" ? "in clear?" : item.state === "rejected" ? (item.label === "HEADER" ? "line stays ✓" : "not personal ✓")
  : item.label === "HEADER" ? `line removed${isOpen(item) ? "" : " ✓"}`
  : item.label.replace("NAME_", "").replace("_", " ") + (item.role && !item.label.startsWith("NAME_") ? ` · ${item.role}` : "") + (isOpen(item) ? "" : " ✓");
const fate = (item) => item.state === "suspect" ? "in clear" : item.action === "keep" ? "stays" : item.label === "HEADER" ? "removed with all in it" : `hidden: ${item.action}`;
const verdict = { found: "not decided", suspect: "not decided", accept: "accepted", rejected: "rejected", relabel: "relabelled", add: "added" };
function facts(item) {
  const score = item.score === null || item.score === undefined ? [] : [`score ${item.score.toFixed(2)}`];
  const role = item.role && item.label !== `NAME_${item.role}` ? [`role ${item.role}`] : [];
  return [item.label || "no label", ...role, fate(item), ...score, verdict[item.state]];
}

function take(answer) {
  doc = answer;
  text = new Text(doc.text);
  items = doc.items;
  selecting = false;
  $("text").classList.remove("selecting");
  $("name").textContent = title(doc);
  const risk = `risk ${doc.risk.toFixed(1)}, ${plural(items.filter(isOpen).length, "span")} not decided`;
  $("about").textContent = `No. ${doc.at} by risk; ${risk}${doc.missed ? `; ${plural(doc.missed, "protected span")} had been left in clear` : ""}`;
  $("mark").replaceChildren(doc.reviewed ? "✓ Reviewed " : "Mark as reviewed ", make("kbd", {}, "m"));
  $("mark").classList.toggle("done", doc.reviewed);
  $("mark").setAttribute("aria-pressed", doc.reviewed);
  document.querySelector('[data-key="["]').disabled = !doc.before.length;
  document.querySelector('[data-key="]"]').disabled = !doc.after.length;
  $("undo").disabled = !doc.can_undo;
  $("same").hidden = true;
  let at = 0;
  const pieces = [];
  items.forEach((item, i) => {
    pieces.push(text.cut(at, item.start));
    const value = text.cut(item.start, item.end);
    const made = make("span", { class: `item ${kindOf(item)}${item.action !== "keep" ? " hide" : ""}`, role: "button", tabindex: "-1", "data-tag": tagOf(item),
      "aria-label": `${value}: ${[...facts(item), item.reason].filter(Boolean).join(", ")}` }, value);
    made.addEventListener("click", () => { if (getSelection().isCollapsed) focus(i); });
    pieces.push(made);
    at = item.end;
  });
  $("text").replaceChildren(...pieces, text.cut(at, text.units.length - 1));
  showRelease();
  focus(-1);
}

function showRelease() {
  if (doc.release === null) { $("release").replaceChildren(make("p", { class: "soft" }, "OUTPUT does not hold this text any more: it has changed since that run.")); return; }
  const release = new Text(doc.release), pieces = [], places = doc.edits.map(([start, end, ...place]) => ({ start, end, place, what: "new" }));
  for (const { start, end } of items) {  // what stays has moved by as much as what was replaced before it has grown
    if (doc.edits.some((edit) => edit[0] < end && start < edit[1])) continue;
    const shift = doc.edits.filter((edit) => edit[1] <= start).reduce((_, edit) => edit[3] - edit[1], 0);
    places.push({ start, end, place: [start + shift, end + shift], what: "same" });
  }
  let at = 0;
  for (const { start, end, place, what } of places.sort((a, b) => a.place[0] - b.place[0])) {
    pieces.push(release.cut(at, place[0]), make("mark", { class: what, "data-start": start, "data-end": end }, release.cut(...place)));
    at = place[1];
  }
  $("release").replaceChildren(...pieces, release.cut(at, release.units.length - 1));
}

const scrolls = (id) => getComputedStyle($(id)).overflowY === "auto";  // else the whole page does

function focus(i) {
  current = i;
  const marks = [...$("text").querySelectorAll(".item")];
  marks.forEach((mark, j) => { mark.tabIndex = j === (i < 0 ? 0 : i) ? 0 : -1; if (j === i) mark.setAttribute("aria-current", "true"); else mark.removeAttribute("aria-current"); });
  const item = items[i];
  for (const key of "axr") document.querySelector(`#actions [data-key="${key}"]`).disabled = !item || (key === "a" && !item.label && item.state !== "suspect");
  for (const key of "np") document.querySelector(`#actions [data-key="${key}"]`).disabled = !items.length;
  document.querySelectorAll("#release mark").forEach((mark) => {
    mark.classList.toggle("now", Boolean(item) && Number(mark.dataset.start) < item.end && item.start < Number(mark.dataset.end));
  });
  if (!item) {
    $("span").replaceChildren(make("p", { class: "soft" }, items.length ? `${plural(items.length, "span")}; n goes to the first.` : "No spans. i adds what you select."));
    return;
  }
  const now = document.querySelector("#release mark.now");
  const became = now && now.className.startsWith("new") ? [make("span", { class: "soft" }, ` in the release: ${now.textContent}`)] : [];
  $("span").replaceChildren(make("p", {}, make("b", {}, text.cut(item.start, item.end)), ...facts(item).map((fact) => make("span", { class: "chip" }, fact)), ...became),
    make("p", { class: "soft" }, `${i + 1} of ${items.length}. ${item.reason || "No reason was recorded"}${item.source && item.source !== item.reason ? ` (${item.source})` : ""}`));
  marks[i].focus({ preventScroll: true });
  marks[i].scrollIntoView({ block: "center" });
  if (now && scrolls("release")) now.scrollIntoView({ block: "nearest" });
}

// Decisions -----------------------------------------------------------------------------------------------------------
function decide(what, start, end, label = "", role = "") {
  return work(async () => {
    const value = text.cut(start, end), answer = await api(`documents/${doc.number}/decide`, { do: what, start, end, label, role });
    take(answer);
    action = answer.action;
    tell(`${{ accept: "Accepted", reject: "Rejected", relabel: "Relabelled", add: "Added" }[what]}: ${value}`);
    const next = items.findIndex((item) => item.start >= start && isOpen(item));  // what stands in a line that stays, too
    focus(next >= 0 ? next : items.findIndex((item) => item.start === start));
    offer(value);
  });
}
async function offer(value) {  // not waited for: a large corpus takes a while
  const number = doc.number, asked = action;
  try {
    const others = await api(`documents/${number}/others/${asked}`);
    if (asked !== action || doc.number !== number || !others.mentions) return;
    picked = { ...others, value };
    $("same").replaceChildren(`Same for ${plural(others.mentions, "other mention")}… `, make("kbd", {}, "g"));
    $("same").hidden = false;
  } catch (err) { tell(err.message, true); }
}
function showOthers() {
  if ($("same").hidden) return;
  $("others-title").textContent = `The same for ${plural(picked.mentions, "other mention")}`;
  $("others-what").textContent = `“${picked.value}” in ${plural(picked.documents, "document")}, not decided about yet${picked.mentions > picked.shown.length ? `; the first ${picked.shown.length}:` : ":"}`;
  $("others-list").replaceChildren(...picked.shown.map((place) => make("li", {}, `${title(place)}: … ${place.parts[0]}`, make("b", {}, place.parts[1]), `${place.parts[2]} …`)));
  ask("others", () => work(async () => {
    const answer = await api(`documents/${doc.number}/others/${action}`, {}), i = current;
    take(answer);
    focus(Math.min(i, items.length - 1));
    tell(`Decided the same about ${plural(answer.decided, "other mention")}.`);
    await showList();
  }));
}
function ask(id, then) {
  const dialog = $(id);
  dialog.onkeydown = (event) => { if (event.key === "Enter" && event.target.matches("select")) { event.preventDefault(); dialog.querySelector("form").requestSubmit(); } };
  dialog.querySelector("form").onsubmit = (event) => { event.preventDefault(); dialog.close(); then(); };
  dialog.showModal();
}
function askLabel(what, start, end, known) {
  $("labels-title").textContent = what === "add" ? "Hide or remove this as" : "Change the label";
  $("labels-value").textContent = text.cut(start, end);
  $("label").value = known.label || (/\d/.test(text.cut(start, end)) ? "ID_NUM" : "NAME_STUDENT");
  $("role").value = known.role && !known.label.startsWith("NAME_") ? known.role : "";
  $("label").onchange = () => { $("role").disabled = $("label").value.startsWith("NAME_"); };
  $("label").onchange();
  ask("labels", () => decide(what, start, end, $("label").value, $("role").disabled ? "" : $("role").value));
  $("label").focus();
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
  askLabel(exact >= 0 && items[exact].state === "found" ? "relabel" : "add", start, end, exact >= 0 ? items[exact] : {});
}
function move(event) {
  const all = words(), chosen = selection() || all[0], [start, end] = chosen, far = { ArrowUp: -10, ArrowDown: 10, ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.shiftKey && event.altKey) { select(start, Math.max(start + 1, Math.min(text.units.length - 1, end + Math.sign(far)))); return; }
  let i = event.shiftKey ? all.findLastIndex((word) => word[0] < end) : all.findLastIndex((word) => word[0] <= start);
  i = Math.max(0, Math.min(all.length - 1, i + far));
  if (event.shiftKey) select(start, Math.max(all[i][1], all.find((word) => word[1] > start)[1])); else select(...all[i]);
}
function find() {
  ask("find", () => {
    const wanted = $("words").value.trim().toLowerCase(), all = doc.text.toLowerCase(), chosen = selection();
    const from = chosen ? text.unit(chosen[1]) : 0, at = wanted ? [all.indexOf(wanted, from), all.indexOf(wanted)].find((found) => found >= 0) : undefined;
    if (at === undefined || all.length !== doc.text.length) { tell("Not in this text.", true); return; }
    selecting = true;
    $("text").classList.add("selecting");
    $("text").focus({ preventScroll: true });
    select(text.sign(at), text.sign(at + wanted.length));
  });
  $("words").select();
}

// Keys ----------------------------------------------------------------------------------------------------------------
const step = (by) => items.length && focus(current < 0 ? (by > 0 ? 0 : items.length - 1) : (current + by + items.length) % items.length);
const onSpan = (todo) => () => { if (items[current]) todo(items[current]); else tell("Go to a span first: n."); };
const KEYS = {
  n: () => step(1), p: () => step(-1),
  a: onSpan((item) => (item.state === "suspect" || item.state === "rejected" ? askLabel("add", item.start, item.end, item) : decide("accept", item.start, item.end))),
  x: onSpan((item) => decide("reject", item.start, item.end)),
  r: onSpan((item) => askLabel(item.state === "suspect" || item.label === "HEADER" ? "add" : "relabel", item.start, item.end, item)),
  i: startSelecting, "/": find, g: showOthers,
  u: () => work(async () => {
    const answer = await api(`documents/${doc.number}/undo`, {}), i = current;
    action = 0;
    take(answer);
    focus(Math.min(Math.max(i, 0), items.length - 1));
    tell(answer.undone ? `Undone: ${answer.undone.do}${answer.undone.mentions > 1 ? `, ${answer.undone.mentions} mentions` : ""}` : "Nothing to undo here.");
    await showList();
  }),
  m: () => work(async () => {
    const answer = await api(`documents/${doc.number}/reviewed`, { reviewed: !doc.reviewed }), i = current;
    take(answer);
    focus(i);
    tell(!answer.reviewed ? "No longer marked." : `Reviewed; the release had left ${answer.missed ? plural(answer.missed, "protected span") : "nothing"} in clear. o goes on.`);
    await showList();
  }),
  "[": () => doc.before.length && open(doc.before[0]), "]": () => doc.after.length && open(doc.after[0]),
  o: () => work(async () => (await api(`next?after=${doc.number}`)).number).then((number) => (number ? open(number) : tell("All documents are reviewed."))),
};
const ANYWHERE = {
  l: () => { show("list"); ($("documents").querySelector("[aria-current]") || $("documents").querySelector("button") || $("unreviewed")).focus(); },
  f: () => $("unreviewed").click(),
  "?": () => ask("help", () => {}),
};
document.addEventListener("keydown", (event) => {
  const inDialog = document.querySelector("dialog[open]"), typing = event.target.matches("input:not([type=checkbox]), select");
  if (inDialog || typing || event.ctrlKey || event.metaKey) return;
  if (selecting && event.key.startsWith("Arrow")) { event.preventDefault(); move(event); return; }
  if (selecting && event.key === "Enter") { event.preventDefault(); add(selection()); return; }
  if (selecting && event.key === "Escape") { event.preventDefault(); stopSelecting(); return; }
  if (event.key === "Enter" && event.target.matches(".item")) { event.preventDefault(); KEYS.r(); return; }
  const todo = event.altKey ? null : ANYWHERE[event.key] || (doc && document.body.dataset.view === "document" ? KEYS[event.key] : null);
  if (todo) { event.preventDefault(); todo(); }
});
document.querySelectorAll("[data-key]").forEach((button) => {
  const key = button.dataset.key;
  button.setAttribute("aria-keyshortcuts", key);
  button.addEventListener("mousedown", (event) => event.preventDefault());  // what is selected stays so
  button.addEventListener("click", () => (KEYS[key] || ANYWHERE[key])());
});
document.querySelectorAll("dialog .close").forEach((button) => button.addEventListener("click", () => button.closest("dialog").close()));
$("help-open").addEventListener("click", ANYWHERE["?"]);
$("unreviewed").addEventListener("change", () => { first = 0; work(showList); });
$("earlier").addEventListener("click", () => { first = Math.max(0, first - 50); work(showList); });
$("later").addEventListener("click", () => { first += 50; work(showList); });
work(async () => {
  const data = await showList(), wanted = Number(location.hash.slice(1));
  if (wanted) open(wanted);
  else if (matchMedia("(min-width: 900px)").matches && data.documents.length) open(data.documents[0].number);
  else show("list");
});
