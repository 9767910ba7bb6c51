export { Answer, type Asked } from './Answer';
export type { MenuItem } from './controls';
export {
  Button,
  Check,
  Choice,
  Dialog,
  IconButton,
  MenuButton,
  Segmented,
  TextArea,
  TextField,
} from './controls';
export { Drawing, type NodeFact } from './Drawing';
export * from './format';
export { type KeyBinding, useKeys } from './keyboard';
export { type ValueSource, ValuesFrom } from './LargeValue';
export { recalled, remember } from './memory';
export { Split } from './Split';
export { State } from './State';
export { Copyable, copy, Duration, Empty, ErrorBox, Kbd, Name, NotHere, Skeleton, Time } from './simple';
export { lookOf, OVER, type Token } from './states';
export { Tabs } from './Tabs';
export { toast } from './toast';
export { useNow } from './useNow';
export { type Paged, usePages } from './usePages';
export { useRested } from './useRested';
export { useWidth } from './useWidth';
export { Value } from './Value';
export type { Column } from './VirtualTable';
export { VirtualTable } from './VirtualTable';
