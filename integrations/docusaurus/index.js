"use strict";

const path = require("path");
const { checked, checkTogether } = require("./options.js");

/**
 * The widget on every page of a Docusaurus site, and the component `@theme/BythebookChat` for one place
 * of a page.
 *
 * @param {{ siteConfig: { url: string } }} context
 * @param {ReturnType<typeof checked>} options As `validateOptions` leaves them.
 */
function bythebookPlugin(context, options) {
  checkTogether(options.server, context.siteConfig.url);
  const { server, key, book, title, theme, mode, button } = options;

  return {
    name: "docusaurus-plugin-bythebook",

    getThemePath: () => path.resolve(__dirname, "theme"),

    /** What the component needs to know; all of it is public. */
    async contentLoaded({ actions }) {
      actions.setGlobalData({ server, key, book, title, theme });
    },

    injectHtmlTags() {
      if (!button) return {};
      const attributes = {
        src: `${server}/widget.js`,
        async: true,
        "data-book": book,
        "data-key": key,
        "data-title": title,
        "data-mode": mode === "float" ? undefined : mode,
        "data-theme": theme === "auto" ? undefined : theme,
      };
      const given = Object.fromEntries(Object.entries(attributes).filter(([, value]) => value));
      // At the head, which stays while readers go from page to page.
      return { headTags: [{ tagName: "script", attributes: given }] };
    },
  };
}

/** @param {{ options: Record<string, unknown> }} given */
bythebookPlugin.validateOptions = ({ options }) => checked(options ?? {});

/** The component may be taken over or wrapped: its props will stay. */
bythebookPlugin.getSwizzleConfig = () => ({
  components: {
    BythebookChat: {
      actions: { eject: "safe", wrap: "safe" },
      description: "The chat in a place of a page.",
    },
  },
});

module.exports = bythebookPlugin;
