/** Buttons, fields, menus and dialogs, on Mantine. Pages take them from here, never from there. */
import * as M from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, type Ref, useEffect, useState } from 'react';

interface ButtonProps {
  children: ReactNode;
  onClick?: () => void;
  icon?: LucideIcon;
  /** What stands out: the one thing to do here, or what cannot be undone. */
  kind?: 'plain' | 'main' | 'danger' | 'quiet';
  type?: 'button' | 'submit';
  busy?: boolean;
  /** Why it cannot be pressed; it then cannot. */
  why?: string | null;
  title?: string;
  label?: string;
  pressed?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

const VARIANT = { plain: 'default', main: 'filled', danger: 'outline', quiet: 'subtle' } as const;

export function Button(props: ButtonProps) {
  const { kind = 'plain', icon: Icon, why } = props;
  return (
    <M.Button
      ref={props.ref}
      size="xs"
      variant={VARIANT[kind]}
      color={kind === 'danger' ? 'red' : undefined}
      type={props.type ?? 'button'}
      onClick={why ? undefined : props.onClick}
      loading={props.busy}
      aria-disabled={why ? true : undefined}
      data-disabled={why ? true : undefined}
      aria-label={props.label}
      aria-pressed={props.pressed}
      title={why || props.title}
      leftSection={Icon ? <Icon size={14} strokeWidth={1.75} aria-hidden /> : undefined}
    >
      {props.children}
    </M.Button>
  );
}

interface IconButtonProps {
  label: string;
  children: ReactNode;
  onClick?: () => void;
  pressed?: boolean;
  why?: string | null;
  keys?: string;
}

export function IconButton({ label, children, onClick, pressed, why, keys }: IconButtonProps) {
  const title = why || (keys ? `${label} (${keys})` : label);
  return (
    <M.ActionIcon
      size={26}
      variant={pressed ? 'light' : 'subtle'}
      color="gray"
      aria-label={label}
      title={title}
      aria-pressed={pressed}
      aria-disabled={why ? true : undefined}
      data-disabled={why ? true : undefined}
      onClick={why ? undefined : onClick}
    >
      {children}
    </M.ActionIcon>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  error?: string | null;
  description?: string;
  hideLabel?: boolean;
  required?: boolean;
  autoFocus?: boolean;
  type?: 'text' | 'password' | 'number';
  onKeyDown?: (event: KeyboardEvent<HTMLInputElement>) => void;
  ref?: Ref<HTMLInputElement>;
  mono?: boolean;
  name?: string;
  list?: string;
}

export function TextField(props: FieldProps) {
  return (
    <M.TextInput
      ref={props.ref}
      size="xs"
      type={props.type ?? 'text'}
      name={props.name}
      list={props.list}
      label={props.hideLabel ? undefined : props.label}
      aria-label={props.hideLabel ? props.label : undefined}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      placeholder={props.placeholder}
      error={props.error || undefined}
      description={props.description}
      required={props.required}
      data-autofocus={props.autoFocus || undefined}
      onKeyDown={props.onKeyDown}
      autoComplete="off"
      spellCheck={false}
      styles={props.mono ? { input: { fontFamily: 'var(--mono)' } } : undefined}
    />
  );
}

export function TextArea(props: Omit<FieldProps, 'ref' | 'onKeyDown' | 'type' | 'list'> & { rows?: number }) {
  return (
    <M.Textarea
      size="xs"
      label={props.hideLabel ? undefined : props.label}
      aria-label={props.hideLabel ? props.label : undefined}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
      placeholder={props.placeholder}
      error={props.error || undefined}
      description={props.description}
      required={props.required}
      data-autofocus={props.autoFocus || undefined}
      minRows={props.rows ?? 3}
      rows={props.rows ?? 3}
      spellCheck={false}
      styles={props.mono ? { input: { fontFamily: 'var(--mono)' } } : undefined}
    />
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  onChange: (value: T) => void;
  options: readonly { value: T; label: string }[];
  hideLabel?: boolean;
}

export function Choice<T extends string>(props: ChoiceProps<T>) {
  return (
    <M.NativeSelect
      size="xs"
      label={props.hideLabel ? undefined : props.label}
      aria-label={props.hideLabel ? props.label : undefined}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value as T)}
      data={props.options.map((one) => ({ value: one.value, label: one.label }))}
    />
  );
}

export function Segmented<T extends string>(props: Omit<ChoiceProps<T>, 'hideLabel'>) {
  return (
    <M.SegmentedControl
      size="xs"
      aria-label={props.label}
      value={props.value}
      onChange={(value) => props.onChange(value as T)}
      data={props.options.map((one) => ({ value: one.value, label: one.label }))}
    />
  );
}

interface CheckProps {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
  hideLabel?: boolean;
  mixed?: boolean;
}

export function Check(props: CheckProps) {
  return (
    <M.Checkbox
      size="xs"
      label={props.hideLabel ? undefined : props.label}
      aria-label={props.hideLabel ? props.label : undefined}
      checked={props.checked}
      indeterminate={props.mixed}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}

export interface MenuItem {
  id: string;
  label: string;
  icon?: LucideIcon;
  danger?: boolean;
  why?: string | null;
  keys?: string;
  onClick: () => void;
}

export function MenuButton(props: { label: string; children: ReactNode; items: MenuItem[] }) {
  return (
    <M.Menu position="bottom-end" withinPortal returnFocus shadow="sm" width={260}>
      <M.Menu.Target>
        <M.Button size="xs" variant="default" aria-label={props.label}>
          {props.children}
        </M.Button>
      </M.Menu.Target>
      <M.Menu.Dropdown>
        {props.items.map((item) => (
          <M.Menu.Item
            key={item.id}
            color={item.danger ? 'red' : undefined}
            disabled={Boolean(item.why)}
            title={item.why ?? undefined}
            leftSection={item.icon ? <item.icon size={14} aria-hidden /> : undefined}
            rightSection={item.keys ? <kbd className="muted mono">{item.keys}</kbd> : undefined}
            onClick={item.onClick}
          >
            {item.label}
          </M.Menu.Item>
        ))}
      </M.Menu.Dropdown>
    </M.Menu>
  );
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  size?: 'sm' | 'md' | 'lg' | 'xl';
}

/** What has the focus; of a menu that is about to close, the button that opened it. */
function focused(): HTMLElement | null {
  const now = document.activeElement as HTMLElement | null;
  const menu = now?.closest('[role=menu]');
  return menu ? document.querySelector<HTMLElement>(`[aria-controls="${menu.id}"]`) : now;
}

/** A dialog: it keeps the focus, and gives it back. Whoever shows it takes it away. */
export function Dialog({ title, onClose, children, size = 'md' }: DialogProps) {
  const [before] = useState(focused);
  useEffect(() => () => before?.focus(), [before]); // it is gone with the dialog, so the dialog's own way never comes
  return (
    <M.Modal
      opened
      onClose={onClose}
      title={title}
      size={size}
      lockScroll={false}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {children}
    </M.Modal>
  );
}
