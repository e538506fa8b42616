import PowerSyncSyncConfig

@testable import PowerSyncGenerator

/// Code for a sync config and tables that are written down in a test.
struct GeneratedCode {
    /// What the author of the config should know.
    let notes: [String]
    /// The code.
    let text: String
    /// The model of it.
    let model: ClientModel

    /// Generates code.
    ///
    /// - Parameters:
    ///   - streams: The names of streams with their queries.
    ///   - schema: CREATE TABLE statements.
    ///   - options: How the code looks.
    /// - Throws: ``GenerationError``.
    init(
        _ streams: KeyValuePairs<String, [String]>,
        schema: String,
        options: SwiftSource.Options = SwiftSource.Options()
    ) throws {
        let tables = try DeclaredTable.all(madeBy: schema)
        // Literals of Swift are texts of YAML, as far as tests have them.
        let lines = streams.map { name, queries in
            "  \(name): {queries: [\(queries.map(\.swiftLiteral).joined(separator: ", "))]}\n"
        }
        let result = SyncConfig.parse("config: {edition: 3}\nstreams:\n\(lines.joined())")
        guard let plan = result.plan else { throw GenerationError(result.diagnostics.map { "\($0)" }) }
        model = try ClientModel(plan, source: DeclaredSource(tables))
        notes = model.notes
        text = try SwiftSource(model, options).text
    }

    /// `name: type` of the columns of a table, with a question mark where they may be NULL.
    func columns(of table: String) -> [String] {
        model.tables.first { $0.name == table }?.columns.map { "\($0.name): \($0.type)\($0.isOptional ? "?" : "")" }
            ?? []
    }

    /// The heads of the functions for streams.
    var functions: [String] {
        text.split(separator: "\n").filter { $0.contains("static func ") }.map { line in
            String(line.drop { $0 == " " })
                .replacing("_ database: any PowerSyncDatabaseProtocol", with: "_")
                .replacing(" -> any SyncStream {", with: "")
        }
    }
}
