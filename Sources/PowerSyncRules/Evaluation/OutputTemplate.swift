import PowerSyncProtocol

/// The id and the data of an output row.
struct OutputRow {
    /// The member `id` as text; empty when there is none.
    var id: String
    /// The JSON object.
    var data: String
}

/// The output rows of an evaluator, with all that does not differ from row to row: which value stands where, and the
/// names as they are in the JSON text.
struct OutputTemplate {
    /// Where a member has its value from.
    private enum Source {
        /// A column as it is.
        case cell(Int)
        /// What an expression makes of the row.
        case expression(PlanExpression)
    }

    private struct Member {
        var name: String
        /// The name in the JSON text, with the colon.
        var label: [UInt8]
        var source: Source
        /// Whether the member gives way to one of the same name before it.
        var isOnlyIfMissing: Bool

        init(_ name: String, _ source: Source, isOnlyIfMissing: Bool = false) {
            self.name = name
            self.source = source
            self.isOnlyIfMissing = isOnlyIfMissing
            label = []
            JSONText.appendString(name, to: &label)
            label.append(UInt8(ascii: ":"))
        }
    }

    private let members: [Member]
    /// Whether a name comes twice.
    ///
    /// What stands where depends on the row then, because bytes are no members.
    private let hasRepeatedNames: Bool
    /// The position of the member `id`.
    private let idPosition: Int?

    /// Creates a template.
    ///
    /// - Parameters:
    ///   - columns: The column list of a query.
    ///   - binding: What the rows look like.
    init(_ columns: [OutputColumn], binding: RowBinding) {
        var members: [Member] = []
        let names = binding.layout.names
        for column in columns {
            switch column {
            case .star:
                members += names.indices.map { Member(names[$0], .cell($0)) }
            case .legacyStar:
                for (position, name) in names.enumerated() where name.utf8.first != UInt8(ascii: "_") {
                    members.append(Member(name, .cell(position), isOnlyIfMissing: true))
                }
            case .expression(.column(let source), let name):
                // A column that the row lacks is left out.
                if let position = binding.layout.position(of: source) { members.append(Member(name, .cell(position))) }
            case .expression(let expression, let name):
                members.append(Member(name, .expression(expression.bound(to: binding))))
            }
        }
        self.members = members
        hasRepeatedNames = Set(members.map { SQLiteValue.text($0.name) }).count < members.count
        idPosition = members.firstIndex { $0.name.hasSameBytes(as: "id") }
    }

    /// Makes an output row.
    ///
    /// - Parameters:
    ///   - input: The source row.
    ///   - text: Memory that is used again for each row.
    /// - Returns: The row.
    /// - Throws: ``EvaluationError``.
    func row(in input: EvaluationInput, writingTo text: inout [UInt8]) throws(EvaluationError) -> OutputRow {
        guard !hasRepeatedNames else { return try rowWithRepeatedNames(in: input) }
        text.removeAll(keepingCapacity: true)
        text.append(UInt8(ascii: "{"))
        var id = ""
        for (position, member) in members.enumerated() {
            let value = try value(of: member, in: input)
            if case .blob = value { continue }
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            text.append(contentsOf: member.label)
            _ = value.appendJSON(to: &text)
            if position == idPosition { id = value.idText }
        }
        text.append(UInt8(ascii: "}"))
        return OutputRow(id: id, data: String(decoding: text, as: UTF8.self))
    }

    private func value(of member: Member, in input: EvaluationInput) throws(EvaluationError) -> SQLiteValue {
        switch member.source {
        case .cell(let position): input.cells[position]
        case .expression(let expression): try expression.evaluate(in: input)
        }
    }

    private func rowWithRepeatedNames(in input: EvaluationInput) throws(EvaluationError) -> OutputRow {
        var output = OutputMembers()
        for member in members {
            let value = try value(of: member, in: input)
            if member.isOnlyIfMissing {
                output.setIfMissing(member.name, to: value)
            } else {
                output.set(member.name, to: value)
            }
        }
        return OutputRow(id: output.id, data: output.json)
    }
}
