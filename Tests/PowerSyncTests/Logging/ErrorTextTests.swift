import Foundation
import PowerSyncHTTP
import PowerSyncTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
import PowerSyncCoreTestSupport
#endif

@testable import PowerSyncClient

/// What status and log show of errors that the app's code throws.
@Suite(.timeLimit(.minutes(1))) struct ErrorTextTests {
    private struct Localized: LocalizedError {
        var errorDescription: String? { "The session\nhas ended." }
    }

    private struct Custom: CustomNSError {
        static var errorDomain: String { "Custom" }
        var errorCode: Int { 4 }
        var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: "No such account."] }
    }

    static let errors: [(any Error, String)] = [
        (
            NSError(domain: "Auth", code: 7, userInfo: [NSLocalizedDescriptionKey: "The session has expired."]),
            "The session has expired. (Auth 7)"
        ),
        (NSError(domain: "Auth", code: 7), "Auth"),
        (
            URLError(.notConnectedToInternet, userInfo: [NSLocalizedDescriptionKey: "Offline."]),
            "Offline. (NSURLErrorDomain -1009)"
        ),
        (URLError(.timedOut), "NSURLErrorDomain"),
        (CocoaError(.fileNoSuchFile), "NSCocoaErrorDomain"),
        (POSIXError(.ECONNREFUSED), "NSPOSIXErrorDomain"),
        (Custom(), "No such account. (Custom 4)"),
        (Localized(), "The session has ended."),
        (ScriptedError(name: "a name"), #"ScriptedError(name: "a name")"#),
    ]

    @Test(arguments: errors.indices) func aLineShowsTheTextOfTheError(index: Int) {
        let (error, text) = Self.errors[index]
        let wrapped: [any Error] = [
            error, PowerSyncError.operationFailed(underlyingError: error),
            SyncTransportError(.connection, message: "No answer", underlyingError: error),
            HTTPExchangeError(.connection, underlyingError: error),
        ]
        for shown in wrapped {
            #expect(shown.lineOfText.contains(text))
            #expect(!shown.lineOfText.contains("(null)"))
        }
    }

    @Test(arguments: errors.indices) func logAndStatusShowWhatAnUploadThrows(index: Int) async throws {
        let (error, text) = Self.errors[index]
        let harness = SyncHarness()
        harness.connector.onUpload { _, _ in throw Self.errors[index].0 }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.wait { $0.lastUploadError != nil }
        #expect(type(of: harness.database.currentStatus.uploadError ?? ()) == type(of: error))
        #expect(harness.log.messages(.error).contains { $0.contains(text) })
        #expect("\(harness.database.currentStatus)".contains(text))
        #expect(!harness.log.messages(.error).contains { $0.contains("(null)") })
    }

    @Test func nothingElseOfAnErrorsDictionaryIsLogged() {
        let error = NSError(
            domain: "Auth",
            code: 7,
            userInfo: [NSLocalizedDescriptionKey: "Refused.", "token": "secret"]
        )
        #expect(error.lineOfText == "Refused. (Auth 7)")
    }
}
