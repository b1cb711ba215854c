"use strict";
/* Sort each body of a table by the column whose heading is pressed: numbers by size, all else by the alphabet; absent values stay last. */
function sortKey(cell) {
  if (!cell) return null;
  const text = cell.textContent.trim().replace(/−/g, "-").replace(/(\d),(?=\d{3})/g, "$1");
  const number = text.match(/^<?\s*-?\d*\.?\d+/);
  if (text === "–" || text === "") return null;
  return number ? parseFloat(number[0].replace("<", "")) : text.toLowerCase();
}
document.querySelectorAll("table.sortable").forEach(table => {
  const headings = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  headings.forEach((heading, column) => heading.querySelector("button").addEventListener("click", () => {
    const isNumber = heading.classList.contains("n");
    const before = heading.getAttribute("aria-sort");
    const down = before ? before === "ascending" : isNumber;
    headings.forEach(other => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    [...table.tBodies].forEach(body => {
      const rows = [...body.rows].map((row, place) => ({row, place, key: sortKey(row.cells[column])}));
      rows.sort((a, b) => {
        if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.place - b.place;
        const order = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key));
        return (down ? -order : order) || a.place - b.place;
      });
      rows.forEach(({row}) => body.append(row));
    });
  }));
});

/* Say where something is wider than its place. */
const sayWide = () => document.querySelectorAll(".scroll,.canvas").forEach(one => one.classList.toggle("wide", one.scrollWidth > one.clientWidth + 1));
addEventListener("resize", sayWide);
addEventListener("load", sayWide);
document.addEventListener("toggle", sayWide, true);
