"use strict";
// Sorts, filters and shortens the tables. Without it the page shows every row, in the order that it says.

const collator = new Intl.Collator("en", { numeric: true });
const written = (n) => n.toLocaleString("en");

// Which rows a form asks for. A field that the form does not have asks for nothing.
function wanted(form) {
  const asked = Object.fromEntries(form ? new FormData(form) : []);
  const text = (asked.text || "").trim().toLowerCase();
  return (row) =>
    (!asked.function || row.dataset.function === asked.function) &&
    (!text || row.cells[0].dataset.key.toLowerCase().includes(text)) &&
    (!asked.state || row.dataset.state.split(" ").includes(asked.state)) &&
    (!asked.place || asked.level.includes(row.dataset.levels[asked.place]));
}

// What a column is sorted by: numbers if all are, null where there is none.
function keys(rows, column) {
  const texts = rows.map((row) => row.cells[column].dataset.key ?? row.cells[column].textContent.trim());
  const nothing = ["", "–"];
  const numeric = texts.every((text) => nothing.includes(text) || !Number.isNaN(Number(text)));
  return texts.map((text) => (nothing.includes(text) ? null : numeric ? Number(text) : text));
}

// Rows that have no number stay at the end, whichever way the others are.
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "number" ? a - b : collator.compare(a, b));
}

const lists = new Map();

class List {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.form = document.querySelector(`form[data-for="${table.dataset.list}"]`);
    this.limit = Number(table.dataset.limit || Infinity);
    this.more = document.createElement("button");
    this.more.type = "button";
    this.more.className = "more";
    this.more.addEventListener("click", () => {
      const next = [...this.body.rows].find((row) => row.hidden && this.fits(row));
      this.limit = Infinity;
      this.refresh();
      next.tabIndex = -1;
      next.focus({ preventScroll: true });
    });
    table.after(this.more);
    if (this.form) {
      this.form.hidden = false;
      for (const kind of ["input", "change"]) this.form.addEventListener(kind, () => this.refresh());
      this.form.addEventListener("submit", (event) => event.preventDefault());
    }
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if ("unsortable" in head.dataset) return;
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => this.sort(head, column));
      head.append(button);
    });
    this.refresh();
  }

  sort(head, column) {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of this.table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const rows = [...this.body.rows];
    const by = new Map(keys(rows, column).map((key, place) => [rows[place], key]));
    rows.sort((a, b) => compare(by.get(a), by.get(b), ascending ? 1 : -1));
    this.body.append(...rows);
    this.refresh();
  }

  refresh() {
    this.fits = wanted(this.form);
    let found = 0;
    for (const row of this.body.rows) {
      const fits = this.fits(row);
      found += fits;
      row.hidden = !fits || found > this.limit;
    }
    const shown = Math.min(found, this.limit);
    this.more.hidden = shown === found;
    this.more.textContent = `Show all ${written(found)}`;
    const status = this.form?.querySelector("[role=status]");
    if (status) {
      const of = this.body.rows.length;
      status.textContent = `${written(shown)} of ${written(found)} shown${found < of ? `, ${written(of)} in all` : ""}`;
    }
  }

  reveal(row) {
    this.form?.reset();
    this.limit = row.hidden ? Infinity : this.limit;
    this.refresh();
  }
}

function reveal() {
  let id;
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    return; // no link of this page is malformed
  }
  const row = document.getElementById(id);
  if (!row || !row.matches("tr[id]")) return;
  lists.get("students").reveal(row);
  row.scrollIntoView({ block: "center" });
  row.tabIndex = -1;
  row.focus({ preventScroll: true });
}

// On a phone the cells of some tables stand below each other; to a screen reader they stay a table.
for (const table of document.querySelectorAll("table.stacked")) {
  table.role = "table";
  for (const part of [table.tHead, ...table.tBodies]) part.role = "rowgroup";
  for (const row of table.rows) row.role = "row";
  for (const cell of table.querySelectorAll("td")) cell.role = "cell";
  for (const head of table.querySelectorAll("th")) head.role = head.scope === "col" ? "columnheader" : "rowheader";
}

for (const table of document.querySelectorAll("table[data-list]")) lists.set(table.dataset.list, new List(table));

for (const link of document.querySelectorAll("a[data-facts-of]")) {
  link.addEventListener("click", () => {
    const list = lists.get("facts");
    list.form.elements.namedItem("function").value = link.dataset.factsOf;
    list.refresh();
  });
}

// Under the pointer, a cell of a strip says which function it is.
const names = [...document.querySelectorAll("select[name=place] option")].slice(1).map((option) => option.text);
document.querySelector("table.students")?.addEventListener("pointermove", (event) => {
  const strip = event.target.closest(".strip");
  if (!strip) return;
  const box = strip.getBoundingClientRect();
  strip.parentElement.title = names[Math.floor((names.length * (event.clientX - box.left)) / box.width)] ?? "";
});

window.addEventListener("hashchange", reveal);
window.addEventListener("load", reveal);
