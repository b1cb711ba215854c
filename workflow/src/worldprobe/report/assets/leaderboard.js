"use strict";
// A click on a heading sorts its table by that column; a second click turns the order round. Missing values stay last.
document.querySelectorAll("th button").forEach((button) => button.addEventListener("click", () => {
  const heading = button.closest("th");
  const headings = [...heading.parentNode.children];
  const column = headings.indexOf(heading);
  const isFirst = heading.getAttribute("aria-sort") === null;
  const startsLow = column <= 1;
  const ascending = isFirst ? startsLow : heading.getAttribute("aria-sort") === "descending";
  headings.forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const body = heading.closest("table").tBodies[0];
  const key = (row) => {
    const cell = row.children[column];
    return cell.dataset.value === undefined ? cell.textContent.trim().toLowerCase() : cell.dataset.value === "" ? null : Number(cell.dataset.value);
  };
  const order = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    const sign = x < y ? -1 : x > y ? 1 : 0;
    return ascending ? sign : -sign;
  };
  [...body.rows].sort(order).forEach((row) => body.appendChild(row));
}));
