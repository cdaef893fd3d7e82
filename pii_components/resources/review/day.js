// The page of `pii-edu release`: shows how each step stands, asks once a second while one runs.
"use strict";
const $ = (id) => document.getElementById(id);
const WORDS = { todo: "not done yet", running: "runs", done: "done", failed: "refused: see below", stopped: "stopped; it can go on", stale: "done with other choices, or before what the review says now" };
const VERBS = { rehearse: "Rehearse", run: "De-identify", again: "Release as decided", estimate: "Estimate" };
let state = null, field = "", listed = null, timer = 0;

function make(tag, about = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(about)) if (value !== null && value !== false) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}
function tell(line, error = false) {
  $("status").textContent = line;
  $("status").classList.toggle("error", error);
}
async function api(path, body) {
  const sent = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
  let answer;
  try { answer = await fetch(`api/${path}`, sent); } catch { throw new Error("The page has lost its server. Start pii-edu release again: nothing is lost."); }
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}
const work = (todo) => todo().catch((err) => tell(err.message, true));

function minutes(seconds) {
  if (seconds === null) return "";
  return seconds < 90 ? `; about ${Math.ceil(seconds)} seconds left` : `; about ${Math.ceil(seconds / 60)} minutes left`;
}

function draw(fresh) {
  state = fresh;
  const chosen = Boolean(state.choices.input);
  $("what").textContent = state.choices.input;
  const { input, roster, profile, operating_point: point } = state.choices;
  if (chosen) $("chosen").textContent = `${input}; ${roster || "no class list"}; ${profile}${point ? `; ${point}` : ""}`;
  $("choose").dataset.state = chosen ? "done" : "todo";
  $("decisions").textContent = state.decisions
    ? `You have made ${state.decisions} decisions. The release is written anew, as you decided.`
    : "Nothing is to be done here until you have decided something in the review.";
  $("advice").textContent = state.advice;
  for (const row of state.steps) drawStep(row, chosen);
  const busy = state.steps.some((row) => ["run", "again"].includes(row.step) && ["running", "stopped", "failed"].includes(row.state));
  $("places").replaceChildren(
    make("p", {}, isDone("run") && !busy ? "To give away: " : "To give away when it is done; until then it is not whole, and parts of it end in .partial: ", make("code", {}, state.out || "not chosen yet")),
    make("p", {}, "Only for you (key, way back, review, report): ", make("code", {}, state.folder)));
  clearTimeout(timer);
  if (state.steps.some((row) => row.state === "running")) timer = setTimeout(() => work(async () => draw(await api("state"))), 1000);
}

function drawStep(row, chosen) {
  const place = $(row.step), before = place.querySelector(".now");
  const had = document.activeElement && before && before.contains(document.activeElement);
  place.dataset.state = row.state;
  place.classList.toggle("next", state.next === row.step);
  const busy = state.steps.some((other) => other.state === "running");
  const ready = chosen && !busy && (row.step === "rehearse" || row.step === "run" || isDone("run")) && (row.step !== "again" || state.decisions);
  const buttons = make("p", { class: "row" });
  if (row.state === "running") buttons.append(button("Stop", () => api("stop", {}).then(draw)));
  else if (row.step === "review") buttons.append(button("Open the review", async () => { tell("All documents are read once."); draw(await api("review", {})); location.href = "review/"; }, ready));
  else buttons.append(button(verb(row), () => api("start", { step: row.step }).then(draw), ready));
  if (row.step === "estimate" && state.report) buttons.append(make("a", { href: "report", target: "_blank", rel: "noopener" }, "Open the report"));
  const now = make("div", { class: "now" }, make("p", { class: "soft", role: "status" }, WORDS[row.state]));
  if (row.state === "running" && (row.step === "run" || row.step === "again")) {
    now.append(make("progress", { max: 1, value: row.read, "aria-label": "Read so far" }));
    now.append(make("p", { class: "soft" }, row.read ? `${Math.round(100 * row.read)} % read${minutes(row.left)}` : "All texts are read once for their names; then it begins."));
  }
  now.append(buttons);
  if (row.lines.length) now.append(make("details", { open: row.state !== "done" || row.step === "rehearse" ? "" : null }, make("summary", {}, "What it said"), make("pre", { tabindex: 0 }, row.lines.join("\n"))));
  if (before) before.replaceWith(now); else place.append(now);
  if (had) now.querySelector("button").focus();
}
const isDone = (step) => state.steps.some((row) => row.step === step && (row.state === "done" || row.state === "stale"));
function verb(row) {
  if (row.state === "stopped") return "Go on";
  return row.state === "done" || row.state === "stale" ? `${VERBS[row.step]} again` : VERBS[row.step];
}
function button(name, todo, ready = true) {
  const made = make("button", { type: "button", class: "main", disabled: ready ? null : "" }, name);
  made.addEventListener("click", () => { tell(""); work(todo); });
  return made;
}

function marked(after, before) {  // words that the example did not have
  const old = new Set(before.split(/\s+/)), out = make("p", { class: "example" });
  for (const part of after.split(/(\s+)/)) out.append(part.trim() && !old.has(part) ? make("mark", {}, part) : part);
  return out;
}
async function profiles() {
  const rows = await api("profiles");
  const place = $("profiles");
  place.replaceChildren(make("legend", {}, "What is done with what is found"),
    ...rows.flatMap((row) => [make("label", {}, make("input", { type: "radio", name: "profile", value: row.name }), " ", make("strong", {}, row.name), " ", make("span", { class: "soft" }, row.about)), marked(row.after, row.before)]));
  if (!rows.some((row) => row.name === state.choices.profile)) place.append(make("label", {}, make("input", { type: "radio", name: "profile", value: state.choices.profile }), ` ${state.choices.profile}`));
  fill();
}
function fill() {
  const form = $("choices");
  for (const [name, value] of Object.entries(state.choices)) if (form.elements[name]) form.elements[name].value = value;
}

async function browse(path) {
  listed = await api(`folder?path=${encodeURIComponent(path)}`);
  $("browse-path").textContent = listed.path;
  $("browse-this").hidden = field === "roster";
  const row = (name, todo, tag) => { const made = make("button", { type: "button" }, name, " ", make("span", { class: "soft" }, tag)); made.addEventListener("click", () => work(todo)); return make("li", {}, made); };
  const inside = (name) => `${listed.path.replace(/[\\/]$/, "")}/${name}`;
  $("browse-list").replaceChildren(
    row("..", () => browse(listed.parent), "up"),
    ...listed.folders.map((name) => row(name, () => browse(inside(name)), "folder")),
    ...listed.files.map((name) => row(name, async () => take(inside(name)), "file")));
  if (!$("browse").open) $("browse").showModal();
}
function take(path) {
  $(field).value = path;
  $("browse").close();
  $(field).focus();
}

for (const open of document.querySelectorAll("[data-browse]")) open.addEventListener("click", () => { field = open.dataset.browse; work(() => browse($(field).value || state.here)); });
$("browse").querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); take(listed.path); });
$("browse").querySelector(".close").addEventListener("click", () => $("browse").close());
$("choices").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  work(async () => { draw(await api("choices", { ...state.choices, ...given })); fill(); $("chosen-open").open = false; tell("Kept."); });
});
work(async () => { draw(await api("state")); fill(); $("chosen-open").open = !state.choices.input; await profiles(); });
