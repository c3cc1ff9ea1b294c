export default {
  'shell.skip': 'Skip to the content',
  'shell.views': 'Views',
  'shell.shop': 'Shop',
  'shell.lab': 'Lab',
  'shell.guide': 'Guide',
  'shell.languages': 'Language',
  'shell.no-answer': 'The program behind this page does not answer. Is it running?',
  'shell.failed': 'This view could not be loaded. Choose it again to try once more.',
};
