import PowerSyncProtocol

/// The id and the data of an output row.
struct OutputRow {
    /// The member `id` as text; empty when there is none, and clients do not get the row.
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
        /// Nowhere: the rows lack the column.
        case missing
    }

    private struct Member {
        var name: String
        var source: Source
        /// Whether the member gives way to one of the same name before it.
        var isOnlyIfMissing = false
    }

    private let members: [Member]
    /// The names of all members as they are in the JSON text, each with a comma before and the colon behind it.
    private let labels: [UInt8]
    /// Where the label of each member ends.
    private let labelEnds: [Int]
    /// Whether a name comes twice.
    ///
    /// What stands where depends on the row then, because bytes are left out.
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
                members += names.indices.map { Member(name: names[$0], source: .cell($0)) }
            case .legacyStar:
                for (position, name) in names.enumerated() where name.utf8.first != UInt8(ascii: "_") {
                    members.append(Member(name: name, source: .cell(position), isOnlyIfMissing: true))
                }
            case .expression(.column(let source), let name):
                // A column that the row lacks is left out, and what it replaces with it. But rows keep their id, without which clients
                // would take all of them for one.
                if let position = binding.layout.position(of: source) {
                    members.append(Member(name: name, source: .cell(position)))
                } else if name != "id" {
                    members.append(Member(name: name, source: .missing))
                }
            case .expression(let expression, let name):
                members.append(Member(name: name, source: .expression(expression.bound(to: binding))))
            }
        }
        var labels: [UInt8] = []
        var labelEnds: [Int] = []
        for member in members {
            labels.append(UInt8(ascii: ","))
            JSONText.appendString(member.name, to: &labels)
            labels.append(UInt8(ascii: ":"))
            labelEnds.append(labels.count)
        }
        self.members = members
        self.labels = labels
        self.labelEnds = labelEnds
        hasRepeatedNames = Set(members.map { SQLValue.text($0.name) }).count < members.count
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
        // A member or a value that is copied is counted: they are read where they are.
        for position in members.indices {
            switch members[position].source {
            case .cell(let cell):
                append(input.cells[cell], at: position, to: &text)
                if position == idPosition { id = input.cells[cell].idText }
            case .expression(let expression):
                let value = try expression.evaluate(in: input)
                append(value, at: position, to: &text)
                if position == idPosition { id = value.idText }
            case .missing:
                break
            }
        }
        text.append(UInt8(ascii: "}"))
        return OutputRow(id: id, data: String(decoding: text, as: UTF8.self))
    }

    /// Appends a member, unless its value is bytes.
    private func append(_ value: SQLValue, at position: Int, to text: inout [UInt8]) {
        if case .blob = value { return }
        let start = position == 0 ? 0 : labelEnds[position - 1]
        // The first member has no comma.
        text.append(contentsOf: labels[(text.count > 1 ? start : start + 1)..<labelEnds[position]])
        _ = value.appendJSON(to: &text)
    }

    private func value(of member: Member, in input: EvaluationInput) throws(EvaluationError) -> SQLValue? {
        switch member.source {
        case .cell(let position): input.cells[position]
        case .expression(let expression): try expression.evaluate(in: input)
        case .missing: nil
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
