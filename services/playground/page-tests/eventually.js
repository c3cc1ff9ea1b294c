// Waiting for a condition, never for a time.

const LIMIT_MILLISECONDS = 30_000;
const PAUSE_MILLISECONDS = 50;

/**
 * Asks again until `holds` no longer throws; what it threw last is the reason of a failure.
 * @template Found
 * @param {() => Found | Promise<Found>} holds
 * @returns {Promise<Found>}
 */
export async function eventually(holds) {
  const deadline = Date.now() + LIMIT_MILLISECONDS;
  for (;;) {
    try {
      return await holds();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resume) => setTimeout(resume, PAUSE_MILLISECONDS));
  }
}
