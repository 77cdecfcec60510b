const SVG = "http://www.w3.org/2000/svg";

/** Lines on a field of 24 by 24, drawn in the colour of the text. */
const LINES = {
  book: "M12 6c-2-1.6-4.6-2-8-2v14c3.4 0 6 .4 8 2 2-1.6 4.6-2 8-2V4c-3.4 0-6 .4-8 2v14",
  check: "M5 12.5l4.5 4.5L19 7.5",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h10v11H9zM5 15V4h10",
  down: "M17 4v10M7 14h5l-1 6h1.5L17 14V4H8.500l-2.500 8.500z",
  left: "M15 5l-7 7 7 7",
  list: "M4 6h16M4 12h16M4 18h10",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  open: "M10 5H5v14h14v-5M14 4h6v6M20 4l-9 9",
  plus: "M12 5v14M5 12h14",
  retry: "M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5",
  right: "M9 5l7 7-7 7",
  save: "M12 4v11M7 10.500l5 5 5-5M5 20h14",
  send: "M12 19V5M6 11l6-6 6 6",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  stop: "M7 7h10v10H7z",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.400 1.400M17.600 17.600L19 19M5 19l1.400-1.400M17.600 6.400L19 5",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  up: "M7 20V10M17 10h-5l1-6h-1.500L7 10v10h8.500l2.500-8.500z",
};

/**
 * A small drawing beside or instead of a label; screen readers pass over it.
 * @param {keyof typeof LINES} name
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const lines = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  lines.setAttribute("d", LINES[name]);
  svg.append(lines);
  return svg;
}
