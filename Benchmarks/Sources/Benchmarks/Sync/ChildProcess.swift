import Foundation

/// This executable, started once more to do one thing: `benchmarks in-child <role> <JSON of the argument>`.
///
/// The child answers with one line of JSON on its standard output.
struct ChildProcess: ~Copyable {
    /// What a child does.
    enum Role: String {
        /// See ``ServiceProcess``.
        case service
        /// See ``FirstSync``.
        case firstSync
        /// See ``DownloadFloor``.
        case download
        /// See ``SyncedRowsFloor``.
        case insert
        /// See ``ServeScenario``.
        case serve
        /// See ``PlainServer``.
        case plainServer
    }

    /// The first argument of a child.
    static let command = "in-child"

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// Starts a child.
    init(_ role: Role, _ argument: some Encodable) throws {
        process.executableURL = Bundle.main.executableURL
        let json = String(decoding: try JSONEncoder().encode(argument), as: UTF8.self)
        process.arguments = [Self.command, role.rawValue, json]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// The number of the process.
    var identifier: Int32 { process.processIdentifier }

    /// Waits for the answer.
    func answer<Answer: Decodable>(_: Answer.Type = Answer.self) throws -> Answer {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw Failure(description: "A child process ended without an answer.") }
            line += data
        }
        return try JSONDecoder().decode(Answer.self, from: line)
    }

    /// Ends the child's input and waits for its end.
    consuming func end() throws {
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// Starts a child, waits for its answer and its end.
    static func run<Answer: Decodable>(_ role: Role, _ argument: some Encodable) throws -> Answer {
        let child = try ChildProcess(role, argument)
        let answer = try child.answer(Answer.self)
        try child.end()
        return answer
    }

    // MARK: In the child

    /// Does what this process was started for.
    static func main(_ arguments: some Collection<String>) async throws {
        let arguments = Array(arguments)
        guard arguments.count == 2, let role = Role(rawValue: arguments[0]) else {
            throw Failure(description: "Only the benchmarks themselves start child processes.")
        }
        let argument = Data(arguments[1].utf8)
        func decode<Argument: Decodable>(_: Argument.Type) throws -> Argument {
            try JSONDecoder().decode(Argument.self, from: argument)
        }
        switch role {
        case .service: try await ServiceProcess.run(decode(SyncScenario.self))
        case .firstSync: try report(await decode(FirstSync.self).run())
        case .download: try report(await decode(DownloadFloor.self).run())
        case .serve: try await decode(ServeScenario.self).run()
        case .plainServer: try await decode(PlainServer.self).run()
        case .insert: try report(decode(SyncedRowsFloor.self).run())
        }
    }

    /// Answers the parent.
    static func report(_ answer: some Encodable) throws {
        let line = try JSONEncoder().encode(answer) + Data("\n".utf8)
        try FileHandle.standardOutput.write(contentsOf: line)
    }

    /// What went wrong with a child.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }
}
