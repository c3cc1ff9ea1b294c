// What the server says, and what the lab's parts tell each other. For the type checker; the page does not load it.

import type { Translate } from '../i18n/i18n.js';
import type { Scene } from '../pipeline/scene.js';

export type { Context } from '../shell/shell.js';
export type { Scene, Translate };

/** Of a step: the line of code that did it. */
export type Source = { file: string; line: number };

/** A preset, or a row of the matrix. */
export type Row = { id: string; mistakes: string[] };

/** By row and failure. */
export type Cells = Record<string, Record<string, { verdict: string; milliseconds: number }>>;

/** `lab.json`. */
export type Lab = {
  mode: 'live' | 'export';
  mistakes: { id: string; protection: string; source?: Source }[];
  failures: { id: string }[];
  presets: Row[];
  rows: Row[];
  expected: Record<string, Record<string, string>>;
  /** The recorded verdicts of an exported site. */
  cells?: Cells;
};

export type Step = {
  at: number;
  actor: string;
  kind: string;
  point?: string;
  order?: string;
  /** Of a request: place, cancel or retry. */
  what?: string;
  /** Of an answer: its HTTP status. */
  status?: number;
  source?: Source;
  /** Index into the trace's states. */
  state: number;
};

/** One recorded run. */
export type Trace = {
  mistakes: string[];
  failure: string;
  verdict: string;
  because: { code: string; order?: string; times?: number }[];
  equation: { wanted: number; accepted: number; reservations: number; textMessages: number };
  milliseconds: number;
  steps: Step[];
  states: Scene[];
};

/** The run of all cells. `cells` are those that are new. */
export type Progress = { running: boolean; done: number; total: number; cells: Cells };

/** What is switched off, what fails, and the step that is shown. */
export type Choice = { mistakes: string[]; failure: string; step: number };

/** Draws something that depends on the choice. */
export type Draw = (lab: Lab, choice: Choice, t: Translate, choose: (change: Partial<Choice>) => void, open: Open) => HTMLElement;

export type Pick = (step: number) => void;
export type Open = (source: Source) => void;

/** `from` and `to` are the same where nothing travels, and empty where it is no lifeline's. */
export type Arrow = { from: string; to: string; both?: boolean; failed?: boolean };
