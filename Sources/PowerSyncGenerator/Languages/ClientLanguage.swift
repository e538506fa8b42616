import PowerSyncSyncConfig

/// A language of clients beside Swift, for teams that have several.
package enum ClientLanguage: String, Sendable, CaseIterable {
    case typescript, kotlin, dart

    /// The text of a file: a schema, a type for the rows of each table, a function for each stream.
    ///
    /// The same model gives the same text, byte for byte.
    ///
    /// - Throws: ``GenerationError`` when two names become one, or none.
    func text(of model: ClientModel, _ options: ClientCode.Options) throws -> String {
        let code = try ClientCode(model, options)
        let lines =
            switch self {
            case .typescript: TypeScriptSource(code: code).lines
            case .kotlin: KotlinSource(code: code).lines
            case .dart: DartSource(code: code).lines
            }
        return (lines + [""]).joined(separator: "\n")
    }
}

/// What the code of all languages is made from: the model, with a name for everything.
struct ClientCode {
    /// How the code looks.
    struct Options: Sendable {
        /// The file names of config and schema, for the comment on top.
        var inputs: [String] = []
        /// The command that generates the code again, for the comment on top.
        var command = ""
        /// The package of the file, in Kotlin.
        var packageName: String?
    }

    let model: ClientModel
    let options: Options
    private let names: SwiftSource.Names

    /// Makes the names.
    init(_ model: ClientModel, _ options: Options) throws {
        self.model = model
        self.options = options
        names = try SwiftSource.Names(model, namespace: "Synced")
    }

    /// The comment on top.
    var header: [String] {
        [
            "// Generated from \(options.inputs.joined(separator: " and ")). Do not edit; to generate it again:", "//",
            "//   \(options.command)", "",
        ]
    }

    /// A table with its names in code.
    struct Table {
        var table: ClientModel.Table
        /// The type of its rows.
        var type: String
        /// The columns, `id` first, with the names of their properties.
        var columns: [(column: ClientModel.Table.Column, name: String)]
    }

    /// A stream with its names in code.
    struct Stream {
        var stream: ClientModel.Stream
        var function: String
        var parameters: [(parameter: ClientModel.Stream.Parameter, name: String)]

        /// What the comment says.
        var about: String {
            let how = stream.isSubscribedByDefault ? ", which clients get without subscribing" : ""
            return "The stream `\(stream.name.inOneLine)` of priority \(stream.priority)\(how)."
        }
    }

    var tables: [Table] {
        zip(model.tables, names.tables).map { table, names in
            let id = ClientModel.Table.Column(name: "id", type: .text, isOptional: false)
            let columns = zip(table.columns, names.columns).map { (column: $0, name: $1) }
            return Table(table: table, type: names.type, columns: [(column: id, name: "id")] + columns)
        }
    }

    var streams: [Stream] {
        zip(model.streams, names.streams).map { stream, names in
            Stream(
                stream: stream,
                function: names.function,
                parameters: zip(stream.parameters, names.parameters).map { (parameter: $0, name: $1) }
            )
        }
    }

    /// The comment about columns that are not there.
    static func leftOut(_ table: ClientModel.Table) -> String? {
        guard !table.leftOut.isEmpty else { return nil }
        return "// Bytes are not synced: \(table.leftOut.map(\.inOneLine).joined(separator: ", "))"
    }
}

extension String {
    /// The text in a comment, on one line, which it does not end.
    var inOneLine: String {
        String(UnicodeScalarView(unicodeScalars.filter { $0.properties.generalCategory != .control && $0 != "`" }))
            .replacing("*/", with: "* /")
    }

    /// The text as a literal in quotes.
    ///
    /// - Parameters:
    ///   - quote: The quote.
    ///   - escape: How a character is written by its number in hexadecimal digits.
    ///   - escaped: Characters that a backslash stands before, besides the quote and the backslash.
    /// - Returns: The literal.
    func literal(_ quote: Character, escape: (String) -> String, escaping escaped: Set<Unicode.Scalar> = []) -> String {
        var literal = String(quote)
        for scalar in unicodeScalars {
            let category = scalar.properties.generalCategory
            if Character(scalar) == quote || scalar == "\\" || escaped.contains(scalar) {
                literal += "\\\(scalar)"
            } else if category == .control || category == .format || category == .lineSeparator
                || category == .paragraphSeparator
            {
                literal += escape(String(scalar.value, radix: 16))
            } else {
                literal.unicodeScalars.append(scalar)
            }
        }
        return literal + String(quote)
    }
}
