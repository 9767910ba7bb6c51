import flows from './playwright.config';

/** The same browser as the flows have; it looks instead of testing. */
export default { ...flows, testDir: './tests/pictures', outputDir: './test-results/pictures' };
