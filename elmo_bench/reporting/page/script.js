"use strict";
(() => {
  const numeric = (text) => (text.trim() === "" ? NaN : Number(text));

  // Numbers within words sort by their value: 0.0005 before 0.002, 8 before 16.
  const even = (text) => text.replace(/\d+(\.\d+)?/g, (number) => Number(number).toFixed(9).padStart(24, "0"));

  // Empty cells stay at the end, whichever way the others go.
  const compare = (one, other, up) => {
    if (one === "" || other === "") return (one === "") - (other === "");
    const [a, b] = [numeric(one), numeric(other)];
    const order = Number.isNaN(a) || Number.isNaN(b) ? even(one).localeCompare(even(other), "en") : a - b;
    return up ? order : -order;
  };

  document.documentElement.classList.add("script"); // the page shows what needs it
  for (const button of document.querySelectorAll("thead button")) {
    button.disabled = false;
    button.addEventListener("click", () => {
      const head = button.parentElement;
      head.closest(".table")?.querySelector(".more button")?.click(); // all rows are sorted, not those on show
      const up = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "descending" : head.classList.contains("words");
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows].sort((one, other) =>
        compare(one.cells[head.cellIndex].dataset.order, other.cells[head.cellIndex].dataset.order, up));
      body.append(...rows);
    });
  }

  // The address holds the part that is open and the filter, as #section-open-tune?task=ner&words=glove.
  const address = () => {
    const [id, query] = location.hash.slice(1).split("?");
    try {
      return [decodeURIComponent(id), new URLSearchParams(query)];
    } catch {
      return ["", new URLSearchParams(query)]; // not written by us
    }
  };
  const write = (id, query) => {
    const text = query.toString();
    history.replaceState(null, "", `#${encodeURIComponent(id)}${text ? `?${text}` : ""}`);
  };

  let refresh = () => {};
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
  const unfoldBefore = (lines) => {
    const parts = lines.flatMap((line) => comments(line.parentElement, (parent) => parent.tagName !== "DETAILS"));
    for (const line of lines) line.remove();
    unfold(parts);
  };
  for (const line of document.querySelectorAll(".more")) {
    line.querySelector("button").addEventListener("click", () => unfoldBefore([line]));
  }

  const form = document.getElementById("filter");
  if (form) {
    const [words, task, count] = ["words", "task", "count"].map((id) => document.getElementById(id));
    const details = document.getElementById("details");
    let tables, rows, others, sections, folded;

    const collect = () => {
      tables = [...details.querySelectorAll(".table")];
      rows = tables.flatMap((table) => [...table.querySelectorAll("tbody tr")].map((row) => ({
        row, table, text: `${table.querySelector("caption").textContent} ${row.textContent}`.toLowerCase().replaceAll("−", "-"),
      })));
      others = [...details.querySelectorAll("figure[data-task]"), ...document.querySelectorAll("details[data-task]")];
      sections = [...details.querySelectorAll("details.section:has(.hits)")]; // Data has no rows
      folded = details.querySelector(".table .more") ? ", more are folded" : "";
    };

    const filter = () => {
      const wanted = words.value.toLowerCase().replaceAll("−", "-").split(/\s+/).filter(Boolean);
      const active = wanted.length > 0 || task.value !== "";
      form.classList.toggle("active", active);
      const lines = [...details.querySelectorAll(".table .more")];
      if (active && lines.length > 0) {
        unfoldBefore(lines); // all rows are searched, not those on show; this filters, too
        return;
      }
      let shown = 0;
      for (const { row, text } of rows) {
        row.hidden = Boolean(task.value && row.dataset.task && row.dataset.task !== task.value)
          || !wanted.every((word) => text.includes(word));
        shown += row.hidden ? 0 : 1;
      }
      for (const table of tables) table.hidden = !table.querySelector("tbody tr:not([hidden])");
      for (const other of others) {
        const text = other.tagName === "DETAILS" ? other.querySelector("summary").textContent.toLowerCase() : "";
        other.hidden = Boolean(task.value && other.dataset.task && other.dataset.task !== task.value)
          || (text !== "" && !wanted.every((word) => text.includes(word)));
      }
      for (const section of sections) {
        const own = section.querySelectorAll("tbody tr:not([hidden])").length;
        section.hidden = own === 0;
        section.querySelector(".hits").textContent = active ? `${own} row${own === 1 ? "" : "s"}` : "";
      }
      count.value = `${shown} of ${rows.length} rows${folded}`;
    };
    const keep = () => {
      const query = new URLSearchParams();
      if (task.value) query.set("task", task.value);
      if (words.value) query.set("words", words.value);
      write(address()[0], query);
    };
    form.addEventListener("input", () => {
      keep();
      filter();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    refresh = () => {
      collect();
      filter();
    };
    const follow = () => {
      words.value = address()[1].get("words") ?? "";
      task.value = address()[1].get("task") ?? "";
      if (task.selectedIndex < 0) task.value = ""; // not a task of this page
      refresh();
    };
    follow();
    addEventListener("hashchange", () => (location.hash.includes("?") ? follow() : keep())); // links have no filter
  }

  // A toggle does not bubble, but is seen on its way down; so runs that are unfolded later are opened too.
  const unfoldIn = (part) => unfold([...part.childNodes].filter((node) => node.nodeType === Node.COMMENT_NODE));
  const opened = new Set(document.querySelectorAll("details[open]")); // in the source: a first toggle is nobody's wish
  document.addEventListener("toggle", ({ target }) => {
    const isFirst = opened.delete(target);
    if (!target.open) return;
    unfoldIn(target);
    const now = document.getElementById(address()[0]);
    if (!printing && !isFirst && target.classList.contains("section") && !target.contains(now)) write(target.id, address()[1]);
  }, true);

  let printing = false;
  let closed = [];
  addEventListener("beforeprint", () => {
    printing = true;
    closed = [...document.querySelectorAll("details.section:not([open], #records)")];
    for (const each of closed) {
      each.open = true;
      unfoldIn(each); // its toggle may come after the print
    }
  });
  addEventListener("afterprint", () => {
    for (const each of closed) each.open = false;
    printing = false;
  });

  const open = () => {
    const [id] = address();
    const records = document.getElementById("records");
    if (id && records && !document.getElementById(id)) {
      unfold(comments(records).filter((part) => part.data.includes(`<details id="${id}"`)));
    }
    const target = document.getElementById(id);
    if (!target) return;
    for (let each = target; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
    }
    target.hidden = false;
    target.querySelector(":scope > summary")?.focus({ preventScroll: true });
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  open();
})();
