export default {
  'shell.skip': 'پرش به محتوا',
  'shell.views': 'بخش‌ها',
  'shell.shop': 'فروشگاه',
  'shell.lab': 'آزمایشگاه',
  'shell.guide': 'راهنما',
  'shell.languages': 'زبان',
  'shell.failed': 'این بخش بارگذاری نشد. برای تلاش دوباره، همین بخش را انتخاب کنید.',
};
