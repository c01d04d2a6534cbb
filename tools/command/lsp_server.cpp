#include "tools/command/lsp_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/diag/error.hpp"
#include "tools/command/judge_inputs.hpp"
#include "tools/command/lsp_hover.hpp"
#include "tools/command/report/version.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr int method_not_found = -32601, invalid_params = -32602, internal_error = -32603, parse_error = -32700;
constexpr int quiet_time = 30;  // ms without a message, after which documents are judged

const std::string& uri_of(const Json& params) {
  return params.at("textDocument").at("uri").get_ref<const std::string&>();
}

// A request for which there is no answer.
struct NoMethod {
  std::string name;
};

}  // namespace

Json LspServer::initialize(const Json& params) {
  const Json none = Json::object();
  const Json encodings =
      params.value("capabilities", none).value("general", none).value("positionEncodings", Json::array());
  if (std::find(encodings.begin(), encodings.end(), "utf-8") != encodings.end()) unit_ = ColumnUnit::utf8;
  constexpr int whole_text = 1;
  const Json abilities = {{"positionEncoding", unit_ == ColumnUnit::utf8 ? "utf-8" : "utf-16"},
                          {"textDocumentSync", {{"openClose", true}, {"change", whole_text}}},
                          {"hoverProvider", true},
                          {"definitionProvider", true},
                          {"codeActionProvider", {{"codeActionKinds", Json::array({"quickfix"})}}}};
  return {{"capabilities", abilities}, {"serverInfo", {{"name", "kiln"}, {"version", version()}}}};
}

const LspDocument& LspServer::document(const Json& params) const {
  const auto found = documents_.find(uri_of(params));
  if (found == documents_.end()) throw diag::InputError(fmt::format("{}: is not open", uri_of(params)));
  return found->second;
}

Json LspServer::hover(const Json& params) const {
  const LspDocument& d = document(params);
  const Hover said = hover_at(d.source(), d.offset(params.at("position")));
  if (said.markdown.empty()) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", said.markdown}}}, {"range", d.range(said.place)}};
}

Json LspServer::answer(const std::string& method, const Json& params) {
  if (method == "initialize") return initialize(params);
  if (method == "shutdown") return shut_down_ = true, nullptr;
  if (method == "textDocument/hover") return hover(params);
  // What is asked about findings is asked about this text.
  judge_changed();
  if (method == "textDocument/codeAction") return document(params).code_actions(params.at("range"));
  if (method == "textDocument/definition") return document(params).other_places(params.at("position"));
  throw NoMethod{method};
}

void LspServer::take(const std::string& method, const Json& params) {
  if (method == "exit") {
    ended_ = true;
  } else if (method == "textDocument/didOpen") {
    documents_[uri_of(params)] = LspDocument(uri_of(params), params.at("textDocument").at("text"), unit_);
    changed_.insert(uri_of(params));
  } else if (method == "textDocument/didChange") {
    const Json& changes = params.at("contentChanges");
    if (!changes.empty()) documents_[uri_of(params)] = LspDocument(uri_of(params), changes.back().at("text"), unit_);
    changed_.insert(uri_of(params));
  } else if (method == "textDocument/didClose") {
    documents_.erase(uri_of(params));
    changed_.erase(uri_of(params));
    publish(LspDocument(uri_of(params), "", unit_));
  }
}

void LspServer::publish(const LspDocument& d) const {
  stream_.write({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", d.diagnostics()}});
}

void LspServer::judge_changed() {
  for (const std::string& uri : changed_) {
    LspDocument& d = documents_.at(uri);
    InputJudge with;
    with.judge = [&](const Input&) { return std::vector<JudgedText>{{d.source(), judge(d.source(), options_)}}; };
    d.set_found(std::move(judge_inputs({{d.source()->name(), Input::Kind::ptx}}, with).front().judgement.found));
    publish(d);
  }
  changed_.clear();
}

void LspServer::handle(const Json& message) {
  const std::string method = message.value("method", "");
  const Json params = message.value("params", Json::object());
  if (!message.contains("id")) return take(method, params);
  if (method.empty()) return;  // an answer to what was not asked
  Json reply = {{"jsonrpc", "2.0"}, {"id", message.at("id")}};
  const auto refuse = [&](int code, const std::string& why) { reply["error"] = {{"code", code}, {"message", why}}; };
  try {
    reply["result"] = answer(method, params);
  } catch (const NoMethod& unknown) {
    refuse(method_not_found, unknown.name + ": no such method");
  } catch (const Json::exception& wrong) {
    refuse(invalid_params, wrong.what());
  } catch (const diag::InputError& wrong) {
    refuse(invalid_params, wrong.what());
  } catch (const std::exception& wrong) {
    refuse(internal_error, wrong.what());
  }
  stream_.write(reply);
}

int LspServer::serve() {
  while (!ended_) {
    if (!changed_.empty() && !stream_.has_more(quiet_time)) judge_changed();
    try {
      const std::optional<Json> message = stream_.read();
      if (!message) break;
      handle(*message);
    } catch (const Json::exception& wrong) {  // a notification that is none: nothing answers it
      stream_.write({{"jsonrpc", "2.0"},
                     {"method", "window/logMessage"},
                     {"params", {{"type", 1}, {"message", fmt::format("{}: {}", parse_error, wrong.what())}}}});
    }
  }
  return shut_down_ ? 0 : 1;
}

}  // namespace kiln::command
