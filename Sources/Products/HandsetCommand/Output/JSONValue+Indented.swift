// SPDX-License-Identifier: Apache-2.0

extension JSONValue {
    /// The text over several lines, for people; what is short stays on one.
    package var indented: String { indented(by: "") }

    private func indented(by margin: String) -> String {
        let line = description
        if line.count + margin.count <= 100 { return line }
        let inner = margin + "  "
        switch self {
        case .null, .bool, .integer, .decimal, .string: return line
        case .array(let values):
            return "[\n" + values.map { inner + $0.indented(by: inner) }.joined(separator: ",\n") + "\n" + margin + "]"
        case .object(let members):
            let lines = members.map { inner + JSONValue.string($0.name).description + ": " + $0.value.indented(by: inner) }
            return "{\n" + lines.joined(separator: ",\n") + "\n" + margin + "}"
        }
    }
}
