package import Foundation

/// An empty directory for one test.
package struct AttachmentsFolder {
    package let path: String

    /// Runs a test in a directory and removes it.
    package static func run<T>(
        in parent: String? = nil,
        _ body: (AttachmentsFolder) async throws -> T
    ) async throws -> T {
        let parent = parent.map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
        let url = parent.appending(path: "powersync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: url) }
        return try await body(AttachmentsFolder(path: url.path))
    }

    /// The path of a name in the directory.
    package func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

    package func write(_ data: Data, to name: String) throws {
        try data.write(to: URL(filePath: self(name)))
    }

    package func read(_ name: String) throws -> Data {
        try Data(contentsOf: URL(filePath: self(name)))
    }

    package func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: self(name), withDestinationPath: target)
    }

    package func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: true)
    }

    /// Everything in the directory and below, sorted.
    package var names: [String] {
        get throws { try FileManager.default.subpathsOfDirectory(atPath: path).sorted() }
    }

    package func age(_ name: String, seconds: TimeInterval) throws {
        let date = Date(timeIntervalSinceNow: -seconds)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: self(name))
    }
}

extension Data {
    /// Bytes that repeat only after 251.
    package static func pattern(_ count: Int) -> Data {
        // Byte by byte, a debug build takes half a second for a megabyte.
        var data = Data(capacity: count)
        while data.count < count { data.append(periods.prefix(count - data.count)) }
        return data
    }

    /// A whole number of periods of ``pattern(_:)``.
    private static let periods = (0..<12).reduce(into: Data(0..<251)) { data, _ in data.append(data) }
}
