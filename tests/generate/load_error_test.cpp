// Model folders that cannot be used: each gives one line that says what is wrong, where.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "gpt2.h"
#include "gpt2_config.h"
#include "model_files.h"

namespace {

using generate::Gpt2Model;
using Json = nlohmann::json;

// The error of loading these files, without the folder's name; "" when they load.
std::string load_error(const ModelFiles &files) {
  const TempDir dir;
  files.write(dir.path());
  std::string message = error_of([&] { Gpt2Model{dir.path()}; });
  if (message.empty()) return message;
  EXPECT_EQ(message.find('\n'), message.npos) << message;
  EXPECT_EQ(message.rfind(dir.path().string() + "/", 0), 0u) << message;
  return message.substr(dir.path().string().size() + 1);
}

TEST(LoadErrors, AModelWithItsTensorsLoads) {
  EXPECT_EQ(load_error(ModelFiles::read("draft")), "");
  EXPECT_EQ(load_error(ModelFiles::odd_sizes()), "");
}

TEST(LoadErrors, EveryTensorIsNeeded) {
  const ModelFiles files = ModelFiles::odd_sizes();
  ASSERT_EQ(files.tensors.size(), 28u);
  for (const auto &[name, tensor] : files.tensors) {
    ModelFiles changed = files;
    changed.tensors.erase(name);
    EXPECT_EQ(load_error(changed), "model.safetensors: tensor \"" + name + "\" is missing");
  }
  ModelFiles own_head = files;
  own_head.config["tie_word_embeddings"] = false;
  EXPECT_EQ(load_error(own_head), "model.safetensors: tensor \"lm_head.weight\" is missing");
}

TEST(LoadErrors, EveryTensorMustHaveItsShape) {
  const ModelFiles files = ModelFiles::odd_sizes();
  for (const auto &[name, tensor] : files.tensors) {
    ModelFiles changed = files;
    StoredTensor &stored = changed.tensors[name];
    stored.shape.insert(stored.shape.begin(), 1);
    EXPECT_EQ(load_error(changed), "model.safetensors: tensor \"" + name + "\" has shape " +
                                       Json(stored.shape).dump() + "; config.json needs " +
                                       Json(tensor.shape).dump());
  }
}

TEST(LoadErrors, EveryTensorMustHaveAFloatType) {
  const ModelFiles files = ModelFiles::odd_sizes();
  for (const auto &[name, tensor] : files.tensors) {
    ModelFiles changed = files;
    changed.tensors[name].dtype = "I32";
    EXPECT_EQ(load_error(changed), "model.safetensors: tensor \"" + name +
                                       "\" has dtype I32; F32, F16 or BF16 is needed");
  }
}

TEST(LoadErrors, SizesOfConfigMustMatchTheTensors) {
  const std::pair<Json, std::string> cases[] = {
      {{{"vocab_size", 38}}, "tensor \"wte.weight\" has shape [37,20]; config.json needs [38,20]"},
      {{{"n_embd", 40}}, "tensor \"wte.weight\" has shape [37,20]; config.json needs [37,40]"},
      {{{"n_positions", 1 << 19}},
       "tensor \"wpe.weight\" has shape [16,20]; config.json needs [524288,20]"},
      {{{"n_layer", 1048575}}, "tensor \"h.2.ln_1.weight\" is missing"},
      {{{"n_inner", nullptr}},
       "tensor \"h.0.mlp.c_fc.weight\" has shape [20,24]; config.json needs [20,80]"},
  };
  for (const auto &[change, message] : cases) {
    ModelFiles files = ModelFiles::odd_sizes();
    files.config.update(change);
    EXPECT_EQ(load_error(files), "model.safetensors: " + message);
  }
}

TEST(LoadErrors, ConfigValuesMustMakeSense) {
  const std::string size = "; it must be an integer in [1, 1048575]";
  const std::pair<Json, std::string> cases[] = {
      {{{"n_head", 3}}, "n_head is 3; it must divide n_embd, which is 20"},
      {{{"model_type", "llama"}}, "model_type is \"llama\"; it must be gpt2"},
      {{{"model_type", 2}}, "model_type is 2; it must be a string"},
      {{{"activation_function", "relu"}},
       "activation_function is \"relu\"; it must be gelu_new, gelu_pytorch_tanh or gelu"},
      {{{"layer_norm_epsilon", -1}}, "layer_norm_epsilon is -1; it must be a number in [0, 1]"},
      {{{"layer_norm_epsilon", "1"}}, "layer_norm_epsilon is \"1\"; it must be a number in [0, 1]"},
      {{{"scale_attn_weights", 1}}, "scale_attn_weights is 1; it must be true or false"},
      {{{"tie_word_embeddings", "no"}}, "tie_word_embeddings is \"no\"; it must be true or false"},
      {{{"add_cross_attention", true}}, "add_cross_attention is true; it must be false"},
      {{{"eos_token_id", 37}}, "eos_token_id is 37; it must be an integer in [0, 36]"},
      {{{"eos_token_id", {1, 2}}}, "eos_token_id is [1,2]; it must be an integer in [0, 36]"},
      {{{"n_inner", 0}}, "n_inner is 0" + size},
  };
  for (const auto &[change, message] : cases) {
    ModelFiles files = ModelFiles::odd_sizes();
    files.config.update(change);
    EXPECT_EQ(load_error(files), "config.json: " + message);
  }
}

TEST(LoadErrors, EverySizeOfConfigIsChecked) {
  for (const std::string key : {"vocab_size", "n_positions", "n_embd", "n_layer", "n_head"}) {
    ModelFiles files = ModelFiles::odd_sizes();
    for (const Json &value : {Json(0), Json(-1), Json(1 << 20), Json(UINT64_MAX), Json(INT64_MIN),
                              Json(4.0), Json("4"), Json(true), Json::array(), Json::object()}) {
      files.config[key] = value;
      EXPECT_EQ(load_error(files), "config.json: " + key + " is " + value.dump() +
                                       "; it must be an integer in [1, 1048575]");
    }
    files.config[key] = nullptr;
    EXPECT_EQ(load_error(files), "config.json: " + key + " is missing");
    files.config.erase(key);
    EXPECT_EQ(load_error(files), "config.json: " + key + " is missing");
  }
}

class DamagedFiles : public testing::Test {
 protected:
  DamagedFiles() { files_.write(dir_.path()); }

  // The error after `bytes` became the file `name`.
  std::string error_with(const std::string &name, const std::string &bytes) {
    write_bytes(dir_.path() / name, bytes);
    std::string message = error_of([&] { Gpt2Model{dir_.path()}; });
    EXPECT_EQ(message.find('\n'), message.npos) << message;
    return message;
  }

  TempDir dir_;
  ModelFiles files_ = ModelFiles::odd_sizes();
};

TEST_F(DamagedFiles, MissingFilesAreNamed) {
  for (const std::string name : {"model.safetensors", "config.json"}) {
    std::filesystem::remove(dir_.path() / name);
    EXPECT_EQ(error_of([&] { Gpt2Model{dir_.path()}; }),
              (dir_.path() / name).string() + ": cannot be opened: No such file or directory");
  }
}

TEST_F(DamagedFiles, AFolderIsNoFile) {
  for (const std::string name : {"model.safetensors", "config.json"}) {
    std::filesystem::remove(dir_.path() / name);
    std::filesystem::create_directory(dir_.path() / name);
    EXPECT_EQ(error_of([&] { Gpt2Model{dir_.path()}; }),
              (dir_.path() / name).string() + ": cannot be read");
  }
}

TEST_F(DamagedFiles, ConfigMustBeJson) {
  const std::string where = (dir_.path() / "config.json").string();
  EXPECT_EQ(error_with("config.json", ""), where + ": not valid JSON at byte 1");
  EXPECT_EQ(error_with("config.json", "{\"n_embd\": 20,}"), where + ": not valid JSON at byte 15");
  EXPECT_EQ(error_with("config.json", std::string(9, '[')), where + ": not valid JSON at byte 10");
  EXPECT_EQ(error_with("config.json", "7"), where + ": not a JSON object");
}

TEST_F(DamagedFiles, ATruncatedModelIsRefusedWhereverItEnds) {
  const std::string file = read_bytes(dir_.path() / "model.safetensors");
  for (std::size_t size = 0; size < file.size(); size += 1 + size / 20) {
    EXPECT_NE(error_with("model.safetensors", file.substr(0, size)), "") << size << " bytes";
  }
  EXPECT_NE(error_with("model.safetensors", file.substr(0, file.size() - 1)), "");
  EXPECT_NE(error_with("model.safetensors", file + '\0'), "");
  EXPECT_EQ(error_with("model.safetensors", file), "");
}

// Whatever the files hold: an error or a model that runs, and no memory error (sanitizers).
TEST_F(DamagedFiles, ChangedBytesDoNoHarm) {
  std::mt19937 random(1);
  int num_refused = 0;
  for (const std::string name : {"model.safetensors", "config.json"}) {
    const std::string file = read_bytes(dir_.path() / name);
    // The header and a little of the data.
    const std::size_t range = std::min<std::size_t>(file.size(), 3000);
    for (int round = 0; round < 300; ++round) {
      std::string damaged = file;
      for (int i = 0; i <= round % 3; ++i) {
        damaged[random() % range] = static_cast<char>(round % 2 ? random() : '0' + random() % 10);
      }
      if (!error_with(name, damaged).empty()) {
        ++num_refused;
        continue;
      }
      const Gpt2Model model(dir_.path());
      generate::Gpt2Sequence sequence(model.config());
      std::vector<float> logits(static_cast<std::size_t>(model.config().vocab_size));
      const std::int32_t token_id = 0;
      model.forward({{&sequence, &token_id, 1}}, logits.data());
    }
    write_bytes(dir_.path() / name, file);
  }
  EXPECT_GT(num_refused, 300);
}

}  // namespace
