import flows from './playwright.config';

/** The same browser as the flows have; it measures instead of testing. */
export default { ...flows, testDir: './tests/perf', outputDir: './test-results/perf' };
