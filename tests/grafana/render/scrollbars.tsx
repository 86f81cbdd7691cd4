// SPDX-License-Identifier: Apache-2.0
// A picture does not scroll; and esbuild does not find the default export of the package that this stands for.
import React from 'react';
export const Scrollbars = React.forwardRef<HTMLDivElement, any>(({ children, style }, ref) => <div ref={ref} style={{ ...style, overflow: 'hidden', height: '100%' }}>{children}</div>);
export default Scrollbars;
