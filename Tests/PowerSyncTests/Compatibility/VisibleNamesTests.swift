#if os(Linux)
import Foundation
import TestSupport
import Testing

private let isAppCompilerThere = ProcessInfo.processInfo.environment["POWERSYNC_SQLITE_VERSION"] == nil

/// What a file of an app sees after `import PowerSync`: files of apps are compiled against the modules of this build.
///
/// Without `MemberImportVisibility`, which few apps have, a file sees the members of every module that an imported one imports, however far
/// away: one more initialiser with another label makes `texts.map(UUID.init)` ambiguous.
///
/// Not over other SQLite libraries (scripts/test-sqlite), about which this says nothing: their root has no compiler that works.
@Suite(.timeLimit(.minutes(5)), .enabled(if: isAppCompilerThere)) struct VisibleNamesTests {
    /// Files that are compiled as one module.
    struct App: Sendable, CustomTestStringConvertible {
        var files: [String]
        var flags: [String] = []

        var testDescription: String { (files + flags).joined(separator: " ") }
    }

    static let apps = [
        App(files: ["Idioms", "InitialiserReferences", "OwnAlgorithms"]),
        App(files: ["AwaitedQueueMembers"]),
        // It brings members of other modules to each file of its module.
        App(files: ["AsyncAlgorithmsMembers"]),
        App(files: ["TypesOfAnotherLibrary"]),
        App(files: ["ValuesForTheService"]),
        App(files: ["ValuesForTheService"], flags: ["-enable-upcoming-feature", "MemberImportVisibility"]),
    ]
    /// What is not about names of modules, in both language modes.
    private static let cases = [(apps[0], "5"), (apps[1], "5")] + apps.map { ($0, "6") }

    @Test(arguments: cases) func filesOfAppsCompile(_ app: App, _ languageMode: String) async throws {
        try await withTemporaryDirectory { directory in
            let compiler = try AppCompiler(languageMode, directory)
            try compiler.run(["-emit-module", "-module-name", "AnotherLibrary"], ["AnotherLibrary"])
            try compiler.run(["-typecheck", "-module-name", "App"] + app.flags, app.files)
        }
    }

    /// GRDB, swift-nio with -ssl and -extras, swift-crypto, and what these need of swift-atomics and swift-collections.
    private static let visibleModules: Set = [
        "Atomics", "BasicContainers", "ContainersPreview", "Crypto", "CryptoBoringWrapper", "CryptoExtras",
        "DequeModule", "GRDB", "InternalCollectionsUtilities", "PowerSync", "PowerSyncAttachments",
        "PowerSyncClient", "PowerSyncCore", "PowerSyncHTTP", "PowerSyncProtocol", "PowerSyncSQLite",
        "PowerSyncUpload", "RSocket",
    ]

    @Test func aFileSeesTheseModulesOnly() async throws {
        try await withTemporaryDirectory { directory in
            let compiler = try AppCompiler("6", directory)
            let trace = directory.appending(path: "trace.json")
            try compiler.run(
                ["-typecheck", "-module-name", "App", "-emit-loaded-module-trace-path", trace.path],
                ["InitialiserReferences"]
            )
            struct Trace: Decodable {
                struct Module: Decodable {
                    let name: String
                    let path: String
                }
                let swiftmodulesDetailedInfo: [Module]
            }
            let modules = try JSONDecoder().decode(Trace.self, from: Data(contentsOf: trace)).swiftmodulesDetailedInfo
                .filter { $0.path.hasPrefix(compiler.products.path) }.map(\.name)
            #expect(modules.contains("PowerSync") && modules.contains("NIOCore"))
            let others = modules.filter { !Self.visibleModules.contains($0) }.filter {
                !$0.hasPrefix("NIO") && !$0.hasPrefix("_NIO")
            }
            #expect(others == [])
        }
    }

    /// The test would pass with any compiler that accepts everything.
    @Test func aMemberOfAnImportedModuleIsVisible() async throws {
        try await withTemporaryDirectory { directory in
            let compiler = try AppCompiler("6", directory)
            #expect(throws: AppCompiler.Failure.self) {
                try compiler.run(["-typecheck", "-module-name", "App", "-DWITH_CLIENT"], ["ImportedClient"])
            }
            try compiler.run(["-typecheck", "-module-name", "App"], ["ImportedClient"])
        }
    }
}

/// Runs the Swift compiler with the modules of the build that this process belongs to.
private struct AppCompiler {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let directory: URL
    private let languageMode: String
    private let modules: [String]
    private let fixtures: URL
    /// The folder of the binary of the tests.
    let products: URL

    /// Finds the modules.
    ///
    /// ```
    ///  .build/checkouts/<package>/Sources/<C module>/[include/]module.modulemap
    ///  .build/<platform>/debug/<binary of the tests>
    ///                          Modules/<module>.swiftmodule
    ///                          <C module>.build/module.modulemap
    /// ```
    init(_ languageMode: String, _ directory: URL) throws {
        self.languageMode = languageMode
        self.directory = directory
        let root = URL(fileURLWithPath: #filePath).appending(path: "../../../..").standardized
        fixtures = root.appending(path: "Tests/Fixtures/AppFiles")
        let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        products = URL(fileURLWithPath: binary).deletingLastPathComponent()
        let checkouts = products.appending(path: "../../checkouts").standardized
        var packages = [root]
        for name in try FileManager.default.contentsOfDirectory(atPath: checkouts.path) {
            packages.append(checkouts.appending(path: name))
        }
        var flags = ["-I", products.appending(path: "Modules").path]
        for target in try packages.flatMap({ try Self.folders(in: $0.appending(path: "Sources")) }) {
            let include = target.appending(path: "include")
            let generated = products.appending(path: "\(target.lastPathComponent).build/module.modulemap")
            let maps = [
                generated, include.appending(path: "module.modulemap"), target.appending(path: "module.modulemap"),
            ]
            guard let map = maps.first(where: { FileManager.default.fileExists(atPath: $0.path) }) else { continue }
            flags += ["-Xcc", "-fmodule-map-file=\(map.path)"]
            if FileManager.default.fileExists(atPath: include.path) { flags += ["-Xcc", "-I", "-Xcc", include.path] }
        }
        modules = flags
    }

    private static func folders(in directory: URL) throws -> [URL] {
        guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
            .map { directory.appending(path: $0) }
    }

    /// Compiles files of the fixtures, with warnings as errors.
    func run(_ arguments: [String], _ files: [String]) throws {
        let output = directory.appending(path: "output.txt")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.currentDirectoryURL = directory
        process.arguments =
            ["swiftc", "-swift-version", languageMode, "-warnings-as-errors", "-I", directory.path] + arguments
            + modules
            + ["-module-cache-path", directory.appending(path: "cache").path]
            + files.map { fixtures.appending(path: "\($0).swift").path }
        let handle = try FileHandle(forWritingTo: output)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: try String(contentsOf: output, encoding: .utf8))
        }
    }
}
#endif
