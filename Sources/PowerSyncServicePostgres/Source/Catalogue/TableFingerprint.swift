import PowerSyncServiceCore

/// What decides whether rows of a table that have been copied are still what clients should have, part by part, but for the columns that
/// are read (``PostgresTable/readColumns``).
///
/// They are a part of the form of a table, so the log names the part that is another one now.
struct TableFingerprint: Hashable, Sendable {
    /// A part.
    enum Part: CaseIterable {
        /// All rows were written anew.
        case rewrite
        case identity
        case publication
        case options
        case partitions

        /// What the log calls it.
        var name: String {
            switch self {
            case .rewrite: "rewritten rows"
            case .identity: SourceTableDescriptor.identityInForm
            case .publication: "publication"
            case .options: SourceTableDescriptor.optionsInForm
            case .partitions: "partitions"
            }
        }
    }

    private var values = [FormHash](repeating: FormHash(), count: Part.allCases.count)

    /// Adds a text to a part.
    mutating func add(_ text: String?, to part: Part) {
        guard let index = Part.allCases.firstIndex(of: part) else { return }
        values[index].add(text)
    }

    /// The parts by their names.
    var form: [String: String] {
        Dictionary(uniqueKeysWithValues: zip(Part.allCases, values).map { ($0.name, $1.text) })
    }
}
