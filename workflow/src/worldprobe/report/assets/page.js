/* Enlarge a figure: wheel or buttons to zoom, drag to move, Escape to close. */
const dialog = document.getElementById("zoom"), stage = dialog.querySelector(".stage");
let scale = 1, x = 0, y = 0, opened = null;
const show = () => { stage.firstChild.style.transform = `translate(${x}px,${y}px) scale(${scale})`; };
function fit() {
  const picture = stage.firstChild, width = picture.naturalWidth || 640, height = picture.naturalHeight || 480;
  picture.width = width;
  picture.height = height;
  scale = Math.min((stage.clientWidth - 30) / width, (stage.clientHeight - 30) / height);
  x = (stage.clientWidth - width * scale) / 2;
  y = (stage.clientHeight - height * scale) / 2;
  show();
}
function zoomAt(factor, px, py) {
  const next = Math.min(Math.max(scale * factor, 0.1), 40);
  x = px - (px - x) * next / scale;
  y = py - (py - y) * next / scale;
  scale = next;
  show();
}
function enlarge(canvas) {
  opened = canvas;
  const picture = canvas.querySelector("img").cloneNode();
  picture.removeAttribute("style");
  stage.replaceChildren(picture);
  dialog.showModal();
  fit();
}
document.querySelectorAll(".canvas").forEach(canvas => {
  canvas.addEventListener("click", () => enlarge(canvas));
  canvas.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); enlarge(canvas); }
  });
});
dialog.addEventListener("close", () => { stage.replaceChildren(); if (opened) opened.focus(); });
stage.addEventListener("wheel", event => {
  event.preventDefault();
  const box = stage.getBoundingClientRect();
  zoomAt(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - box.left, event.clientY - box.top);
}, {passive: false});
stage.addEventListener("pointerdown", event => { stage.setPointerCapture(event.pointerId); stage.classList.add("moving"); });
stage.addEventListener("pointerup", () => stage.classList.remove("moving"));
stage.addEventListener("pointermove", event => {
  if (!stage.classList.contains("moving")) return;
  x += event.movementX;
  y += event.movementY;
  show();
});
dialog.querySelector(".bar").addEventListener("click", event => {
  const what = event.target.dataset.zoom, middle = [stage.clientWidth / 2, stage.clientHeight / 2];
  if (what === "in") zoomAt(1.4, ...middle);
  if (what === "out") zoomAt(1 / 1.4, ...middle);
  if (what === "fit") fit();
  if (what === "close") dialog.close();
});

/* Save a figure: the page carries its file. */
document.querySelectorAll("a.save").forEach(link => link.addEventListener("click", event => {
  event.preventDefault();
  const picture = link.closest("figure").querySelector("img");
  Object.assign(document.createElement("a"), {href: picture.src, download: link.dataset.name + ".svg"}).click();
}));

/* Concepts: find by name, open all. */
const search = document.getElementById("concept-search"), openAll = document.getElementById("open-all");
if (search) search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  document.querySelectorAll("details.domain").forEach(domain => {
    const rows = [...domain.querySelectorAll("tbody tr")];
    const hits = rows.filter(row => row.cells[0].textContent.toLowerCase().includes(wanted));
    rows.forEach(row => { row.hidden = wanted !== "" && !hits.includes(row); });
    domain.hidden = wanted !== "" && hits.length === 0;
    domain.open = wanted !== "" && hits.length > 0;
  });
});
if (openAll) openAll.addEventListener("click", () => {
  const all = [...document.querySelectorAll("details.domain")], open = all.some(domain => !domain.open);
  all.forEach(domain => { domain.open = open; });
  openAll.textContent = open ? "Close all" : "Open all";
});

/* Copy the methods paragraph, also where the page was opened from a file. */
document.querySelectorAll("button.copy").forEach(copy => copy.addEventListener("click", () => {
  const range = document.createRange(), selection = getSelection();
  range.selectNodeContents(document.getElementById(copy.dataset.of));
  selection.removeAllRanges();
  selection.addRange(range);
  const done = document.execCommand("copy");
  copy.textContent = done ? "Copied" : "Selected: copy it with your keyboard";
}));

/* Show in the contents where the reader is. */
if ("IntersectionObserver" in window) {
  const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver(entries => entries.forEach(entry => {
    if (!entry.isIntersecting) return;
    links.forEach(link => link.classList.remove("here"));
    links.get(entry.target.id)?.classList.add("here");
  }), {rootMargin: "-10% 0px -80% 0px"});
  document.querySelectorAll("main section, main .part").forEach(section => watcher.observe(section));
}

/* A link into a part that is folded opens it. */
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target) target.querySelectorAll(":scope > details").forEach(fold => { fold.open = true; });
}
addEventListener("hashchange", unfold);
unfold();

/* Cells and figures about a domain or problem lead to its items, on the page of items beside this one. */
if (document.body.dataset.beside.split(" ").includes("items.html")) {
  const overview = document.getElementById("overview"), groups = new Map(), models = new Set();
  if (overview) {
    const named = new Map([...document.querySelectorAll("nav a.part")].map(one => [one.textContent, one.hash.slice(1)]));
    const parts = [...named.values()], titles = [...overview.querySelectorAll("tr.spans th[colspan]")];
    const owners = titles.length ? titles.flatMap(one => Array(one.colSpan).fill(one.textContent)) : null;
    [...overview.querySelectorAll("tr.headings th")].slice(1).forEach((heading, k) => {
      const owner = owners ? named.get(owners[k]) : k ? parts[0] : null;
      if (owner) groups.set(heading.textContent.trim(), owner);
    });
    overview.querySelectorAll("tbody th").forEach(one => models.add(one.textContent.trim()));
  }
  const link = (text, group, model) => {
    const to = new URLSearchParams({benchmark: groups.get(group), domain: group});
    if (model) to.set("model", model);
    return Object.assign(document.createElement("a"), {href: `items.html#${to}`, textContent: text, className: "items"});
  };
  document.querySelectorAll("table").forEach(table => {
    const headings = [...table.querySelectorAll("tr.headings th, thead tr:last-child th")].map(one => one.textContent.trim());
    table.querySelectorAll("tbody tr").forEach(line => {
      const cells = [...line.cells], words = cells.map(one => one.textContent.trim());
      const ofRow = words.find(one => groups.has(one)), model = words.find(one => models.has(one));
      cells.forEach((cell, k) => {
        const group = ofRow || (groups.has(headings[k]) ? headings[k] : null);
        if (group && words[k] && words[k] !== "–" && !cell.querySelector("a")) cell.replaceChildren(link(words[k], group, model || (models.has(headings[k]) ? headings[k] : null)));
      });
    });
  });
  document.querySelectorAll("figure.picture").forEach(figure => {
    const owner = figure.id.split("-")[1];
    if (!/domain|problems/.test(figure.id)) return;
    const line = Object.assign(document.createElement("p"), {className: "note", textContent: "Items: "});
    [...groups].filter(([, part]) => part === owner).forEach(([group], k) => line.append(k ? ", " : "", link(group, group)));
    figure.append(line);
  });
}
