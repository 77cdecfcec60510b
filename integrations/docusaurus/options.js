"use strict";

/**
 * What may be given to the plug-in in docusaurus.config.js, checked before anything is built.
 *
 * @typedef {object} Options
 * @property {string} server Where `bythebook serve` answers.
 * @property {string} [key] A publishable key; only a service on this machine needs none.
 * @property {string} [book] Id of the book; else the reader chooses among those of the key.
 * @property {string} [title] Text of the button, and heading of the chat.
 * @property {"auto" | "light" | "dark"} [theme] As the site is (auto), or always so.
 * @property {"float" | "panel"} [mode] What the button opens: the chat in the corner, or a side panel.
 * @property {boolean} [button] Whether there is a button on every page; true unless said.
 */

const TEXTS = ["server", "key", "book", "title", "theme", "mode"];
const THEMES = ["auto", "light", "dark"];
const MODES = ["float", "panel"];
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const NEW_KEY = "Make one with `bythebook keys create site --publishable --book BOOK --origin SITE`.";
const EXAMPLE = "Give where `bythebook serve` answers, such as https://ask.example.org.";

/** @param {string} sentence */
function refuse(sentence) {
  throw new Error(`docusaurus-plugin-bythebook: ${sentence}`);
}

/** @param {string} given @returns {URL} */
function checkedServer(given) {
  let address;
  try {
    address = new URL(given.trim().replace(/\/widget\.js$/, ""));
  } catch {
    return refuse(`server: ${given} is not a web address. ${EXAMPLE}`);
  }
  if (!["http:", "https:"].includes(address.protocol)) refuse(`server: ${given} is not a web address. ${EXAMPLE}`);
  if (address.search || address.hash || address.username || address.password)
    refuse(`server: the address of ${address.host} holds more than scheme, host, port and path. ${EXAMPLE}`);
  return address;
}

/** The key is not repeated in a message: it may be a secret. @param {string} given */
function checkedKey(given) {
  const key = given.trim();
  if (key.startsWith("btb_"))
    refuse(`key: this key is a secret, and everybody can read what stands in a page. Revoke it if it was published. ${NEW_KEY}`);
  if (!/^btbp_[\w-]+$/.test(key)) refuse(`key: this is not a publishable key, which begins with btbp_. ${NEW_KEY}`);
  return key;
}

/**
 * @param {Record<string, unknown>} given
 * @returns {Options & { button: boolean, id: string }} `id` is Docusaurus' own.
 */
function checked(given) {
  for (const [name, value] of Object.entries(given)) {
    if (!TEXTS.includes(name) && name !== "button" && name !== "id") refuse(`there is no option ${name}. Take it out, or correct its name.`);
    if (TEXTS.includes(name) && value != null && typeof value !== "string") refuse(`${name}: a text is expected. Put it in quotes.`);
  }
  const { id, server, key, theme, mode, button, ...others } = /** @type {any} */ (given);
  if (!server) refuse(`server is missing. ${EXAMPLE}`);
  if (theme != null && !THEMES.includes(theme)) refuse(`theme: ${theme} is unknown. Give auto, light or dark.`);
  if (mode != null && !MODES.includes(mode)) refuse(`mode: ${mode} is unknown. Give float or panel.`);
  if (button != null && typeof button !== "boolean") refuse("button: true or false is expected. Leave it out for true.");
  const address = checkedServer(server);
  if (!key && !LOOPBACK.includes(address.hostname)) refuse(`key is missing; ${address.origin} can't be asked without one. ${NEW_KEY}`);
  return {
    ...others,
    id: id ?? "default",
    server: address.href.replace(/\/+$/, ""),
    key: key ? checkedKey(key) : undefined,
    theme: theme ?? "auto",
    mode: mode ?? "float",
    button: button ?? true,
  };
}

/**
 * Browsers load no http script into an https page.
 * @param {string} server @param {string} site
 */
function checkTogether(server, site) {
  const { protocol, hostname } = new URL(server);
  if (protocol === "http:" && /^https:/.test(site) && !LOOPBACK.includes(hostname))
    refuse(`browsers refuse ${server} on the pages of ${site}, which come over https. Give the service an https address.`);
}

module.exports = { checked, checkTogether };
