// Sorts a table by the column whose heading is pressed; numbers in data-n go before text. Libraries for this are ten times its size.
for (const table of document.querySelectorAll("table.sortable"))
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => row.cells[column]?.dataset.n ?? row.cells[column]?.textContent ?? "";
      const rows = [...table.tBodies[0].rows].sort((a, b) => value(a).localeCompare(value(b), undefined, { numeric: true }));
      table.tBodies[0].append(...(down ? rows.reverse() : rows));
    });
  }
