import ArgumentParser
import PowerSyncProtocol
import PowerSyncTerminal

/// `powersync schema service`: prints the JSON Schema of a file, for editors.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of service configurations, or of sync configs, for editors.",
        discussion: """
            An editor with a language server for YAML completes and explains keys with it, and marks those that there are not:

              powersync schema service > service.schema.json
              # yaml-language-server: $schema=service.schema.json

            The second line is the first one of powersync.yaml. powersync init writes both. The setting yaml.customTags of the editor needs \
            "!env scalar".
            """
    )

    /// A file of a service.
    enum File: String, ExpressibleByArgument, CaseIterable {
        case service, sync

        /// The schema, as text with a line break at its end.
        var text: String {
            let schema =
                switch self {
                case .service:
                    SchemaWriter(takesVariables: true)
                        .document("Configuration of a PowerSync service", ServiceSchema.root)
                case .sync:
                    SchemaWriter(takesVariables: false).document("PowerSync sync config", SyncConfigSchema.root)
                }
            return schema.indentedText + "\n"
        }
    }

    @Argument(help: "The kind of file: service (powersync.yaml) or sync (sync.yaml).")
    var file: File

    func run() throws { try StandardOutput.write(file.text) }
}

extension JSONObject {
    /// The object with two spaces for each level; what has no object in it is in one line.
    fileprivate var indentedText: String { Self.text(.object(self), "") }

    private static func text(_ value: ExactJSON, _ indentation: String) -> String {
        let inner = indentation + "  "
        func lines(_ items: [String], _ open: String, _ close: String) -> String {
            items.isEmpty
                ? open + close
                : "\(open)\n" + items.map { inner + $0 }.joined(separator: ",\n") + "\n\(indentation)\(close)"
        }
        switch value {
        case .object(let object) where object.members.contains { $0.value.isNested }:
            return lines(
                object.members.map { "\(ExactJSON.string($0.name).text): \(text($0.value, inner))" },
                "{",
                "}"
            )
        case .array(let items) where items.contains { $0.isNested }:
            return lines(items.map { text($0, inner) }, "[", "]")
        default: return value.text
        }
    }
}

extension ExactJSON {
    /// Whether the value is an object, or has one.
    fileprivate var isNested: Bool {
        switch self {
        case .object: true
        case .array(let items): items.contains(where: \.isNested)
        default: false
        }
    }
}
