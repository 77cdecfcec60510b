import { createElement, useEffect, useRef } from "react";
import { usePluginData } from "@docusaurus/useGlobalData";
import { useColorMode } from "@docusaurus/theme-common";

/**
 * From the service itself, so that chat and service are of the same version. A module that was loaded
 * before is not loaded again.
 *
 * @param {string} server @param {() => void} onFailure
 */
function load(server, onFailure) {
  const script = document.createElement("script");
  script.type = "module";
  script.src = `${server}/web/chat/element.js`;
  script.addEventListener("error", onFailure);
  script.addEventListener("load", () => script.remove());
  document.head.append(script);
}

/**
 * The chat in a place of a page, with what docusaurus.config.js says unless told otherwise.
 *
 * @param {{ book?: string, title?: string, theme?: "auto" | "light" | "dark", height?: string }} props
 */
export default function BythebookChat({ height = "36em", ...own }) {
  const settings = { ...usePluginData("docusaurus-plugin-bythebook"), ...own };
  const { server, key, book, title, theme } = settings;
  const { colorMode } = useColorMode();
  const place = useRef(null);

  useEffect(() => {
    const chat = document.createElement("bythebook-chat");
    const attributes = { endpoint: `${server}/`, key, book, heading: title, theme };
    for (const [name, value] of Object.entries(attributes)) if (value) chat.setAttribute(name, value);
    chat.toggleAttribute("framed", true);
    Object.assign(chat.style, { display: "block", height: "100%", boxSizing: "border-box" });
    place.current.append(chat);
    load(server, () => {
      chat.textContent = "The chat can’t be loaded. Check the connection.";
    });
    return () => chat.remove();
  }, [server, key, book, title, theme]);

  useEffect(() => {
    if (theme === "auto") place.current.firstElementChild?.setAttribute("scheme", colorMode);
  }, [server, key, book, title, theme, colorMode]);

  return createElement("div", { ref: place, style: { height } });
}
