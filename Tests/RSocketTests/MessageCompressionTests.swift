import Testing

@testable import RSocket

@Suite struct MessageCompressionTests {
    @Test(
        arguments: [
            ("", nil), ("permessage-deflate", true), ("permessage-deflate; client_no_context_takeover", true),
            ("Permessage-Deflate;server_max_window_bits=12 ; client_no_context_takeover", true),
            ("permessage-deflate; server_no_context_takeover", false),
            ("permessage-deflate; server_max_window_bits=\"10\"; server_no_context_takeover", false),
        ] as [(String, Bool?)]
    )
    func theAnswerSaysWhetherTheWindowIsKept(header: String, keepsWindow: Bool?) throws {
        #expect(try MessageCompression.accepted(inAnswer: header)?.keepsWindow == keepsWindow)
    }

    @Test(arguments: [
        "x-webkit-deflate-frame", "permessage-deflate, permessage-deflate",
        "permessage-deflate; client_max_window_bits=8",
        "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=16",
        "permessage-deflate; server_max_window_bits=x", "permessage-deflate; server_no_context_takeover=1",
        "permessage-deflate; server_no_context_takeover; server_no_context_takeover", "permessage-deflate;", ";",
        "permessage-deflate; unknown",
    ])
    func otherAnswersAreRefused(header: String) {
        #expect(throws: MessageCompression.UnexpectedAnswer.self) {
            _ = try MessageCompression.accepted(inAnswer: header)
        }
    }
}
