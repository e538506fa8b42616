import PowerSyncProtocol
import Testing

@testable import PowerSyncService

/// The encodings that a SETUP of RSocket names.
@Suite struct RequestEncodingTests {
    @Test(arguments: [
        ("application/json", RequestEncoding.json), ("Application/JSON", .json),
        ("application/json; charset=utf-8", .json),
        ("application/bson", .bson), ("APPLICATION/BSON;x=1", .bson), ("application/jsonp", nil), ("text/json", nil),
        ("", nil),
    ])
    func mediaTypesHaveAnyCase(_ type: String, _ encoding: RequestEncoding?) {
        #expect((try? RequestEncoding(mimeType: type)) == encoding)
    }
}
