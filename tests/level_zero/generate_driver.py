# SPDX-License-Identifier: Apache-2.0
"""generate_driver.py GENERATE OUT DRIVER: the fake driver's tables, from what the tracker knows about the API.

Every getter of every table. What creates hands out a new handle, what destroys takes it back, the rest of the core says
yes and the rest of the tools say that they are not supported; fake_driver.cpp has some of its own.
"""
import importlib.machinery
import importlib.util
import re
import sys


def main():
    generate, out, driver_source = sys.argv[1:4]
    loader = importlib.machinery.SourceFileLoader('generate', generate)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('generate', loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    functions, roles = module.read_functions(), {r['function']: r for r in module.read_roles()}
    with open(driver_source) as driver:
        own = set(re.findall(r'^Result (z\w+)\(', driver.read(), re.M))

    def words(arguments):
        return ', '.join({'w': 'Word'}.get(s, s) for s, _ in arguments)

    lines = []
    for getter, slot, since, name, arguments in functions:
        role = roles.get(name, {'act': '-'})
        names = [n for _, n in arguments]
        if name in own:
            continue
        if role['act'] == 'create':
            outs = [names.index(role['handle'])]
            if role['second'] != '-':
                outs.append(names.index(role['second'].split(':')[1]))
            lines.append(f"constexpr auto {name} = &Make<{outs[0]}, {outs[1] if len(outs) > 1 else -1}, {words(arguments)}>::call;")
        elif role['act'] == 'destroy':
            lines.append(f"constexpr auto {name} = &Drop<{names.index(role['handle'])}, {words(arguments)}>::call;")
        else:
            lines.append(f"constexpr auto {name} = &{'succeed' if re.match('ze[A-Z]', name) else 'refuse'};")
    for getter in dict.fromkeys(f[0] for f in functions):
        lines.append(f'extern "C" Result {getter}(std::uint32_t version, void** table) {{')
        for _, slot, since, name, _ in (f for f in functions if f[0] == getter):
            lines.append(f'  if (version >= {since[0] << 16 | since[1]:#x}) table[{slot}] = address({name});')
        lines.append('  return kSuccess;\n}')
    with open(out, 'w') as file:
        file.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
    main()
