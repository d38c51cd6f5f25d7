"use strict";
(() => {
  const numeric = (text) => (text.trim() === "" ? NaN : Number(text));

  // Empty cells stay at the end, whichever way the others go.
  const compare = (one, other, up) => {
    if (one === "" || other === "") return (one === "") - (other === "");
    const [a, b] = [numeric(one), numeric(other)];
    const order = Number.isNaN(a) || Number.isNaN(b) ? one.localeCompare(other, "en", { numeric: true }) : a - b;
    return up ? order : -order;
  };

  for (const button of document.querySelectorAll("thead button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const up = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "descending" : head.classList.contains("words");
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows].sort((one, other) =>
        compare(one.cells[head.cellIndex].dataset.order, other.cells[head.cellIndex].dataset.order, up));
      body.append(...rows);
    });
  }

  let refresh = () => {};
  const form = document.getElementById("filter");
  if (form) {
    const [words, task, count] = ["words", "task", "count"].map((id) => document.getElementById(id));
    let tables, rows, others, sections, folded;

    const collect = () => {
      tables = [...document.querySelectorAll(".table")];
      rows = tables.flatMap((table) => [...table.querySelectorAll("tbody tr")].map((row) => ({
        row, table, text: `${table.querySelector("caption").textContent} ${row.textContent}`.toLowerCase(),
      })));
      others = [...document.querySelectorAll("figure[data-task], details[data-task]")];
      sections = [...document.querySelectorAll("section[id]")].filter((section) => section.querySelector(".table"));
      folded = document.querySelector(".table .more") ? ", more are folded" : "";
    };

    const filter = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const { row, text } of rows) {
        row.hidden = Boolean(task.value && row.dataset.task !== task.value) || !wanted.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      for (const table of tables) table.hidden = !table.querySelector("tbody tr:not([hidden])");
      for (const other of others) {
        const text = other.tagName === "DETAILS" ? other.querySelector("summary").textContent.toLowerCase() : "";
        other.hidden = Boolean(task.value && other.dataset.task && other.dataset.task !== task.value)
          || (text !== "" && !wanted.every((word) => text.includes(word)));
      }
      for (const section of sections) section.hidden = !section.querySelector(".table:not([hidden])");
      count.value = `${shown} of ${rows.length} rows${folded}`;
    };
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    refresh = () => {
      collect();
      filter();
    };
    refresh();
  }

  // Folded parts are comments until they are asked for, so that a page of thousands of runs opens at once. Nothing in
  // them ends a comment, since the page escapes every >.
  const comments = (root, within = () => true) => {
    const found = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_COMMENT);
    while (walker.nextNode()) if (within(walker.currentNode.parentElement)) found.push(walker.currentNode);
    return found;
  };
  const unfold = (parts) => {
    for (const part of parts) {
      const template = document.createElement("template");
      template.innerHTML = part.data;
      part.replaceWith(template.content);
    }
    if (parts.length) refresh();
  };
  for (const more of document.querySelectorAll(".more")) {
    more.querySelector("button").addEventListener("click", () => {
      const parts = comments(more.parentElement, (parent) => parent.tagName !== "DETAILS");
      more.remove();
      unfold(parts);
    });
  }
  for (const list of document.querySelectorAll("details")) {
    list.addEventListener("toggle", () => unfold(comments(list)), { once: true });
  }

  const open = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const records = document.getElementById("records");
    if (id && records && !document.getElementById(id)) {
      unfold(comments(records).filter((part) => part.data.includes(`<details id="${id}"`)));
    }
    const target = document.getElementById(id);
    if (target && target.tagName === "DETAILS") {
      target.hidden = false;
      target.open = true;
      target.querySelector("summary").focus({ preventScroll: true });
      target.scrollIntoView();
    }
  };
  window.addEventListener("hashchange", open);
  open();
})();
