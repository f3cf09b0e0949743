"use strict";
// The page works on what it has: it asks nobody for anything, and shows texts only as nodes that were parsed with it.
const by = (id) => document.getElementById(id);
const rows = [...by("calendar").tBodies[0].rows];
const days = [...by("calendar").tHead.rows[1].cells].map((cell) => cell.getAttribute("aria-label").slice(-10));
const buttonOf = (row, day) => row.cells[day + 1]?.querySelector("button");
const rowOf = (job) => rows.find((row) => row.dataset.job === job);
let opened = null;

function show(button) {
  const row = button.closest("tr"), day = days[button.parentNode.cellIndex - 1];
  const section = row.querySelector("template").content.querySelector(`[data-day="${day}"]`);
  by("panel-title").textContent = `${row.dataset.job}, ${day}`;
  by("panel-body").replaceChildren(document.importNode(section, true));
  by("panel").hidden = false;
  by("panel").scrollTop = 0;
  by("panel").focus({ preventScroll: true });
  by("tip").hidden = true;
  opened = button;
  history.replaceState(null, "", "#" + new URLSearchParams({ job: row.dataset.job, day }));
}

function close() {
  if (by("panel").hidden) return;
  by("panel").hidden = true;
  history.replaceState(null, "", "#");
  opened?.focus({ preventScroll: true });
}

function stop(button) { // the one button that Tab reaches
  by("calendar").querySelector('button[tabindex="0"]')?.setAttribute("tabindex", "-1");
  button?.setAttribute("tabindex", "0");
}

function go(job, day) {
  const row = rowOf(job), button = row && buttonOf(row, days.indexOf(day));
  if (!button) return;
  row.hidden = false;
  stop(button);
  button.scrollIntoView({ block: "nearest", inline: "nearest" });
  show(button);
}

function filter() {
  const part = by("filter").value.toLowerCase(), look = by("look").checked;
  for (const row of rows) {
    row.hidden = !row.dataset.job.toLowerCase().includes(part) || (look && !("look" in row.dataset));
  }
  const shown = rows.filter((row) => !row.hidden);
  by("count").textContent = shown.length === rows.length ? "" : `${shown.length} of ${rows.length} jobs`;
  if (by("calendar").querySelector('button[tabindex="0"]')?.closest("tr").hidden ?? true) stop(last(shown));
}

function last(shown) {
  for (const row of shown) {
    for (let day = days.length - 1; day >= 0; day--) if (buttonOf(row, day)) return buttonOf(row, day);
  }
}

function move(button, key) {
  const day = button.parentNode.cellIndex - 1;
  const across = { ArrowLeft: -1, ArrowRight: 1 }[key], down = { ArrowUp: -1, ArrowDown: 1 }[key];
  let row = button.closest("tr"), to = day, next = null;
  if (key === "Home") next = [...row.querySelectorAll("td button")][0];
  if (key === "End") next = [...row.querySelectorAll("td button")].at(-1);
  while (across && !next && days[to += across]) next = buttonOf(row, to);
  while (down && !next && (row = down < 0 ? row.previousElementSibling : row.nextElementSibling)) {
    if (!row.hidden) next = nearest(row, day);
  }
  if (!next) return false;
  stop(next);
  next.focus();
  return true;
}

function nearest(row, day) {
  for (let far = 0; far < days.length; far++) {
    const found = buttonOf(row, day - far) ?? buttonOf(row, day + far);
    if (found) return found;
  }
}

function tip(target) {
  const button = target.closest?.("#calendar td button");
  by("tip").hidden = !button;
  if (!button) return;
  by("tip").textContent = button.getAttribute("aria-label");
  const at = button.getBoundingClientRect(), box = by("tip").getBoundingClientRect();
  by("tip").style.left = `${Math.max(6, Math.min(at.left, innerWidth - box.width - 6))}px`;
  by("tip").style.top = `${at.bottom + 6 + box.height > innerHeight ? at.top - box.height - 6 : at.bottom + 6}px`;
}

document.addEventListener("click", ({ target }) => {
  const cell = target.closest("#calendar td button"), link = target.closest("#summary button");
  if (cell) { stop(cell); show(cell); }
  if (link) go(link.dataset.job, link.dataset.day);
});
document.addEventListener("keydown", (event) => {
  const cell = event.target.closest("#calendar td button");
  if (event.key === "Escape") { by("tip").hidden = true; close(); }
  if (event.key === "/" && !event.target.matches("input")) { event.preventDefault(); by("filter").focus(); }
  if (cell && move(cell, event.key)) event.preventDefault();
});
for (const [come, leave] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
  document.addEventListener(come, ({ target }) => tip(target));
  document.addEventListener(leave, () => { by("tip").hidden = true; });
}
by("close").addEventListener("click", close);
by("choice").addEventListener("submit", (event) => event.preventDefault());
by("choice").addEventListener("input", filter);
filter();
by("scroll").scrollLeft = by("scroll").scrollWidth; // the newest days
const asked = new URLSearchParams(location.hash.slice(1));
if (asked.has("job")) go(asked.get("job"), asked.get("day"));
