import Foundation
import Testing

/// The page "Configuration reference" has the keys that the service reads and the defaults of the limits, the page "Moving from the
/// established service" those that it knows and does not use, and neither has others.
@Suite struct ConfigurationReferenceTests {
    private static let folder = "Sources/PowerSyncService/Configuration"
    /// Where the databases say which keys they have.
    private static let moduleFolders = [
        "Sources/PowerSyncServicePostgres/Configuration", "Sources/PowerSyncServicePostgres/Modules",
        "Sources/PowerSyncServiceMySQL/Configuration", "Sources/PowerSyncServiceMySQL/Modules",
        "Sources/PowerSyncServiceSQLite/Modules", "Sources/PowerSyncServiceCore/Modules",
    ]
    private static let readerFolder = "Sources/PowerSyncServiceCore/Modules/Keys"
    private let page: Page
    /// The first and second cell of each row of a table.
    private let rows: [(keys: [String], value: String)]

    init() throws {
        page = try Page(path: "Sources/PowerSyncService/Documentation.docc/ConfigurationReference.md")
        let moving = try Page(path: "Sources/PowerSyncService/Documentation.docc/MovingFromTheEstablishedService.md")
        let unused = Page.lines(moving.text).drop { $0 != "### Keys of the established service" }
        var isOfEstablishedService = false
        var rows: [(keys: [String], value: String)] = []
        for line in Page.lines(page.text) + unused.prefix(while: { $0 != "### What is different" }) {
            if line.hasPrefix("### ") { isOfEstablishedService = line == "### Keys of the established service" }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst()
            guard let first = cells.first, isOfEstablishedService || first.contains("`") else { continue }
            // That table has keys in all columns.
            let text = isOfEstablishedService ? String(line) : String(first)
            let keys = text.matches(of: /`([a-z_][a-zA-Z_.]*)`/).map { String($0.1.split(separator: ".").last ?? "") }
            rows.append((keys, cells.dropFirst().first?.trimmingCharacters(in: .whitespaces) ?? ""))
        }
        self.rows = rows
    }

    private func source(_ name: String, in folder: String = folder) throws -> String {
        try String(contentsOf: Page.root.appending(path: "\(folder)/\(name)"), encoding: .utf8)
    }

    /// What the service asks sections of the file for.
    private func keysOfTheService() throws -> Set<String> {
        let folders = [Self.folder] + Self.moduleFolders
        let files = try folders.flatMap { try Page.files(in: $0, withExtension: "swift") }
            .filter {
                $0.path.hasSuffix("+YAML.swift") || $0.path.hasSuffix("Module.swift")
                    || $0.path.hasSuffix("/Modules.swift")
            }
        #expect(files.count >= 8)
        var keys: Set<String> = []
        for file in files {
            let text = try String(contentsOf: file, encoding: .utf8)
            let questions = text.matches(
                of: /\.(?:string|strings|integer|boolean|section|sections|contains)\("(\w+)"/
            )
            keys.formUnion(questions.map { String($0.1) })
            // Several keys at once, and keys with what they stand for.
            for list in text.matches(
                of: /(?:ignore\(|for name in \[|let names = \[|requiredPath\(|pem\()([^)\]]*)[)\]]/
            ) {
                keys.formUnion(list.1.matches(of: /"(\w+)"/).map { String($0.1) })
            }
            keys.formUnion(text.matches(of: /\("(\w+)", "\w+"[,)]/).map { String($0.1) })
            keys.formUnion(text.matches(of: /read\("(\w+)", \\/).map { String($0.1) })
        }
        // Those that it knows, and does not use.
        let table = try source("EstablishedKey.swift", in: Self.readerFolder)
        let others = table.matches(of: /"([a-z_A-Z]+)": \.(?:noEffect|refused)\(/)
        #expect(others.count > 30)
        return keys.union(others.map { String($0.1) })
    }

    @Test func itHasAllKeysAndNoOthers() throws {
        let documented = Set(rows.flatMap(\.keys))
        let known = try keysOfTheService()
        #expect(known.count > 60)
        #expect(known.subtracting(documented).sorted() == [], "keys that the page lacks")
        #expect(documented.subtracting(known).sorted() == [], "keys that the service does not read")
    }

    @Test func itNamesTheVariablesOfTheEnvironment() throws {
        let names = try source("ConfigurationVariable.swift").matches(of: #/= "(POWERSYNC_\w+)"/#).map { String($0.1) }
        #expect(names.count == 4)
        for name in names { #expect(page.text.contains("`\(name)`"), "\(name)") }
    }

    @Test(arguments: [
        ("max_concurrent_connections", "maxConcurrentConnections"), ("max_streams_per_user", "maxStreamsPerUser"),
        ("max_data_fetch_concurrency", "maxDataFetchConcurrency"),
        ("max_buckets_per_connection", "maxBucketsPerConnection"),
        ("max_parameter_query_results", "maxParameterQueryResults"), ("port", "defaultPort"),
    ])
    func itHasTheDefaults(key: String, property: String) throws {
        let text = try source("ServiceConfiguration.swift")
        let declaration = try #require(text.firstMatch(of: try Regex("(?:var|let) \(property) = (\\d+)\n")))
        let value = try #require(declaration.output[1].substring)
        #expect(rows.first { $0.keys.last == key }?.value == String(value))
    }
}
