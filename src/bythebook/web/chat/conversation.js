import { withoutQuotation } from "./context.js";
import { failure } from "./failure.js";
import { Problem } from "./problem.js";
import { welcome } from "./welcome.js";

/**
 * @typedef {object} Parts What a conversation works with.
 * @property {import("./service.js").Service} service
 * @property {import("./reader.js").Reader} reader
 * @property {import("./store.js").Store} store
 * @property {import("./conversations.js").Conversations} kept
 * @property {import("./log.js").Log} log
 * @property {import("./composer.js").Composer} composer
 * @property {import("./context.js").Context} context
 * @property {import("./passage.js").PassagePanel} passage
 * @property {() => Promise<void>} ready When the books are known, and what this tab held is shown.
 * @property {(words: string) => void} say
 * @property {(name: string, detail?: object) => void} emit
 * @property {() => void} changed When there is another conversation, or one more.
 */

/** The conversation on the page: one question at a time, kept at the service as a session. */
export class Conversation {
  /** @param {Parts} parts */
  constructor(parts) {
    this.parts = parts;
    /** @type {string | null} */
    this.session = null;
    /** @type {AbortController | null} Of the turn that runs. */
    this.running = null;
    /** @type {Promise<typeof import("./asking.js")> | null} */
    this.asking = null;
    /** @type {import("./exchange.js").Surroundings} */
    this.around = {
      service: parts.service,
      say: parts.say,
      bookTitle: () => parts.reader.book?.title ?? "",
      openCitation: (cited, chip) => {
        const label = `Source ${cited.number}`;
        const wanted = { id: cited.passage_id, stretches: cited.stretches, label, page: cited.page_number, url: cited.source_url };
        void parts.passage.open(wanted, chip);
      },
      openSection: (near, chip) => {
        void parts.passage.open({ id: near.passage_id, stretches: [], label: near.section || near.title }, chip);
      },
      ask: (question, instead) => void this.ask(question, instead),
      startAnew: () => this.startAnew(),
    };
  }

  /** Fetch what a question needs; after a failure it is tried again. */
  prepare() {
    this.asking ??= import("./asking.js").catch((thrown) => {
      this.asking = null;
      console.warn(thrown);
      throw Problem.offline();
    });
    return this.asking;
  }

  /** While the reader still writes. A failure is told when the question is asked. */
  prepareEarly() {
    if (!this.asking) this.prepare().catch(() => undefined);
  }

  /**
   * @param {string} question
   * @param {import("./exchange.js").Exchange} [instead] One that failed, whose place this takes.
   */
  async ask(question, instead) {
    const { service, log, composer, say, emit } = this.parts;
    if (this.running) return;
    const running = (this.running = new AbortController());
    composer.setBusy(true);
    try {
      await this.parts.ready();
      const { Exchange, runTurn } = await this.prepare();
      if (running.signal.aborted) {
        composer.write(question);
        return;
      }
      if (!log.newest) log.show();
      const exchange = new Exchange(question, this.around);
      log.add(exchange, instead);
      emit("ask", { question, book: this.parts.reader.bookId });
      const around = { signal: running.signal, say, shown: () => log.follow() };
      try {
        const answer = await runTurn(service, this.request(question), exchange, around);
        if (running.signal.aborted) return;
        exchange.finish(answer);
        this.keep(answer.session_id ?? null, question);
        emit("answer", { question, ...answer });
      } catch (thrown) {
        if (running.signal.aborted) exchange.stop();
        else this.fail(exchange, Problem.from(thrown));
      }
    } catch (thrown) {
      composer.write(question);
      log.show(failure(Problem.from(thrown), { retry: () => this.startAnew() }));
    } finally {
      // A stopped turn may end after the next one began.
      if (this.running === running) this.rest();
      log.follow();
    }
  }

  stop() {
    this.running?.abort();
    this.rest();
  }

  rest() {
    this.running = null;
    this.parts.composer.setBusy(false);
  }

  /** @param {import("./exchange.js").Exchange} exchange @param {Problem} problem */
  fail(exchange, problem) {
    exchange.fail(problem);
    const { kind, status, message } = problem;
    this.parts.emit("error", { question: exchange.question, kind, status, message });
  }

  /** @param {string} question */
  request(question) {
    const { filters, bookId } = this.parts.reader;
    return {
      message: question,
      ...this.parts.context.request,
      ...(this.session ? { session_id: this.session } : {}),
      ...(bookId ? { book_id: bookId } : {}),
      ...(filters ? { filters } : {}),
    };
  }

  /** @param {string | null} session @param {string} question */
  keep(session, question) {
    const { bookId } = this.parts.reader;
    this.setSession(session);
    if (session && bookId) this.parts.kept.note(session, bookId, withoutQuotation(question)[0]);
    this.parts.changed();
  }

  /** @param {string | null} session */
  setSession(session) {
    this.session = session;
    this.parts.store.writeTab("session", session);
  }

  /** @param {boolean} [focus] Whether the reader goes on by writing. */
  startAnew(focus = true) {
    this.stop();
    this.begin();
    if (focus) this.parts.composer.focus();
  }

  begin() {
    const { log, reader, passage, service } = this.parts;
    this.setSession(null);
    passage.close();
    const isOwnPage = service.isHere && !service.isPages;
    log.show(welcome(reader, (question) => void this.ask(question), (id) => this.chooseBook(id), isOwnPage));
    this.parts.changed();
  }

  /** From the empty conversation, whose list of books stays at hand. @param {string} id */
  chooseBook(id) {
    this.parts.reader.chooseBook(id);
    this.startAnew(false);
    this.parts.log.element.querySelector("select")?.focus();
  }

  /** The one that this tab held before it was loaded again. A question asked meanwhile waits. */
  async goOn() {
    const last = this.parts.store.readTab("session", null);
    const known = this.parts.kept.list(this.parts.reader.bookId).some(({ id }) => id === last);
    if (last && known) await this.restore(last);
    else this.begin();
  }

  /** @param {string} id */
  async resume(id) {
    this.stop();
    await this.restore(id);
  }

  /** @param {string} id */
  async restore(id) {
    const { service, kept, log, passage, say } = this.parts;
    passage.close();
    try {
      const [{ messages }, { Exchange }] = await Promise.all([service.history(id), this.prepare()]);
      this.setSession(id);
      log.show();
      for (const exchange of Exchange.ofMessages(messages, this.around)) log.add(exchange);
      say("The conversation was opened.");
    } catch (thrown) {
      const problem = Problem.from(thrown);
      const gone = problem.kind === "missing";
      if (gone) kept.forget(id);
      this.setSession(null);
      log.show(failure(problem, { retry: gone ? undefined : () => void this.resume(id), startAnew: () => this.startAnew() }));
    }
    this.parts.changed();
  }

  /** @param {string} id @returns {Promise<boolean>} Whether it is gone. */
  async remove(id) {
    const { service, kept, say } = this.parts;
    try {
      await service.forget(id);
    } catch (thrown) {
      const problem = Problem.from(thrown);
      if (problem.kind !== "missing") {
        say(`The conversation was not deleted. ${problem.message}`);
        return false;
      }
    }
    kept.forget(id);
    if (id === this.session) this.startAnew(false);
    else this.parts.changed();
    say("The conversation was deleted.");
    return true;
  }
}
